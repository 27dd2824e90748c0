//! `furwock bench waitv`, `waitset` and `pingpong`: threads that wake one another, by one word or by any of
//! many.

use clap::{Args, ValueEnum};
use rustix::process::{Resource, getrlimit};

use super::super::benchmark::{Benchmark, Case, Place, or_default};
use super::super::common::{Common, NOTES};
use super::super::contestant::Contestant;
use super::super::figure::{Better, CPU, Figure, OPERATIONS, SWITCHES_EACH, Unit, detail, wait};
use super::condvars::pair;
use super::count;
use super::words::cpus;

/// One thread waits for any of many words, another wakes it at one of them
///
/// Both on one CPU, so that a turn costs what sleeping and being woken costs.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct WaitvArguments {
    /// Numbers of words [default: 2,16,64,120,1024]
    #[arg(short = 'f', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    pub words: Vec<u32>,

    #[command(flatten)]
    pub common: Common,
}

/// Producers signal events, consumers each wait for any of them all
///
/// What games under Wine do. Who can't wait for many is measured with what people build instead: all events
/// under one mutex, with one condition variable.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct WaitsetArguments {
    /// Producers to consumers [default: 1/1,4/4,16/16]
    #[arg(short = 't', long, value_name = "P/C,...", value_delimiter = ',', value_parser = pair)]
    pub threads: Vec<(u32, u32)>,

    /// Numbers of events [default: 64]
    #[arg(short = 'f', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    pub words: Vec<u32>,

    #[command(flatten)]
    pub common: Common,
}

/// Two threads wake each other in turn, by the lightest way that each implementation has
///
/// furwock, kernel: a word. glibc, furwock-preload: a semaphore each. std: park and unpark. parking_lot:
/// parking_lot_core. event-listener: an event each. eventfd: read and write. Others: a mutex and a
/// condition variable.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct PingpongArguments {
    /// Pairs of threads at the same time [default: 1,8]
    #[arg(short = 'n', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    pub pairs: Vec<u32>,

    /// Where the two of a pair run [default: same,different]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub place: Vec<Where>,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Where {
    /// Where the kernel puts them
    Anywhere,
    /// Both on one CPU
    Same,
    /// On two CPUs
    Different,
}

const A_TURN: Figure = Figure {
    name: "seconds_per_op",
    title: "time a turn: a signal, a wake, an answer, a wake (±: half the range, in percent)",
    unit: Unit::Time,
    better: Better::Less,
    detail: false,
};
const A_ROUND_TRIP: Figure = Figure {
    name: "seconds_per_round_trip",
    title: "time from a turn to the next (±: half the range of the rounds, in percent)",
    unit: Unit::Time,
    better: Better::Less,
    detail: false,
};
const IN_KERNEL: Figure = Figure {
    name: "system_ns_per_op",
    title: "of that in the kernel",
    unit: Unit::Nanoseconds,
    better: Better::Less,
    detail: false,
};
const TAIL: Figure = wait("wait_p999_s", "from signal to answer, 99.9th percentile");
const LONGEST: Figure = wait("wait_max_s", "from signal to answer, the longest of a round");

/// What the workload calls two CPUs.
const DIFFERENT: f64 = 2.0;

/// Descriptors that a process has beside.
const DESCRIPTORS_BESIDE: u64 = 16;

/// The kernel's call takes 128 words, and a process so many descriptors.
fn unable(case: &Case, contestant: Contestant) -> Option<String> {
    let events = case.parameter("words")? + case.parameter("producers")? + 1.0;
    // Of those a consumer waits for all but the producers' own.
    let awaited = case.parameter("words")? + 1.0;
    match contestant {
        Contestant::Kernel | Contestant::FurwockPreload if awaited > 128.0 => {
            Some("futex_waitv takes 128 words at most".to_owned())
        }
        Contestant::Eventfd => {
            let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
            (events as u64 + DESCRIPTORS_BESIDE > most)
                .then(|| format!("a process may have {most} descriptors (ulimit -n)"))
        }
        _ => None,
    }
}

pub fn waitv(arguments: &WaitvArguments) -> Benchmark {
    let words = or_default(&arguments.words, &[2, 16, 64, 120, 1024]);
    waitv_of_cases(words.into_iter().map(waitv_case).collect())
}

pub fn waitv_of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "waitv",
        title: "Waiting for any of many words",
        workload: "waitv",
        counts_turns: false,
        draws: true,
        case_key: "Cases: words that are waited for.",
        what: "One thread waits for any of many words; another changes one, wakes it there, and waits for \
               its answer. Both run on one CPU. furwock keeps the words registered between waits; the kernel \
               by futex_waitv and poll(2) on eventfds are told all of them each time.",
        figures: const { &[A_TURN, CPU, IN_KERNEL, SWITCHES_EACH, TAIL] },
        cases,
        able: const {
            &[
                Contestant::Furwock,
                Contestant::FurwockPreload,
                Contestant::Kernel,
                Contestant::Eventfd,
            ]
        },
        lacking: "waits for any of many words",
        unable,
    }
}

pub fn waitv_case(words: u32) -> Case {
    Case {
        name: words.to_string(),
        parameters: vec![
            ("words", words.into()),
            ("producers", 1.0),
            ("consumers", 1.0),
            ("one_cpu", 1.0),
        ],
        bound: None,
        place: Place { series: "all".to_owned(), x: words.into(), x_title: "words" },
    }
}

pub fn waitset(arguments: &WaitsetArguments) -> Benchmark {
    let words = or_default(&arguments.words, &[64]);
    let threads = or_default(&arguments.threads, &[(1, 1), (4, 4), (16, 16)]);
    let cases = words.into_iter().flat_map(|words| {
        threads
            .iter()
            .map(move |(producers, consumers)| waitset_case(*producers, *consumers, words))
    });
    waitset_of_cases(cases.collect())
}

pub fn waitset_of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "waitset",
        title: "Many wait for many",
        workload: "waitset",
        counts_turns: false,
        draws: true,
        case_key: "Cases: producers to consumers, events.",
        what: "Each producer signals one of its events and waits for the answer; each consumer waits for any \
               of all events, takes a signal and answers.",
        figures: const { &[OPERATIONS, CPU, IN_KERNEL, SWITCHES_EACH, TAIL, LONGEST] },
        cases,
        able: const {
            &[
                Contestant::Furwock,
                Contestant::FurwockPreload,
                Contestant::Glibc,
                Contestant::Kernel,
                Contestant::Std,
                Contestant::ParkingLot,
                Contestant::Usync,
                Contestant::Nsync,
                Contestant::Absl,
                Contestant::Eventfd,
            ]
        },
        lacking: "wait for any of many",
        unable: |case, contestant| match contestant {
            // Here the preload's are pthread's locks.
            Contestant::FurwockPreload => None,
            _ => unable(case, contestant),
        },
    }
}

pub fn waitset_case(producers: u32, consumers: u32, words: u32) -> Case {
    Case {
        name: format!("{producers} to {consumers}, {words}"),
        parameters: vec![
            ("producers", producers.into()),
            ("consumers", consumers.into()),
            ("words", words.max(producers).into()),
        ],
        bound: None,
        place: Place {
            series: format!("{words} events"),
            x: f64::from(producers + consumers),
            x_title: "threads",
        },
    }
}

pub fn pingpong(arguments: &PingpongArguments) -> Benchmark {
    let pairs = or_default(&arguments.pairs, &[1, 8]);
    let places = or_default(&arguments.place, &[Where::Same, Where::Different]);
    let case = |place: Where, pairs: u32| {
        let (number, name) = match place {
            Where::Anywhere => (0.0, "anywhere"),
            Where::Same => (1.0, "same CPU"),
            Where::Different => (DIFFERENT, "two CPUs"),
        };
        Case {
            name: format!("{name} x {pairs}"),
            parameters: vec![("pairs", pairs.into()), ("place", number)],
            bound: None,
            place: Place { series: name.to_owned(), x: pairs.into(), x_title: "pairs" },
        }
    };
    let cases = places.into_iter().flat_map(|place| pairs.iter().map(move |n| case(place, *n)));
    Benchmark {
        name: "pingpong",
        title: "Ping-pong",
        workload: "pingpong",
        counts_turns: false,
        draws: false,
        case_key: "Cases: where the two of a pair run x pairs.",
        what: "The two threads of a pair wake each other in turn.",
        figures: const {
            &[
                A_ROUND_TRIP,
                CPU,
                SWITCHES_EACH,
                detail(wait("wait_p99_s", "from turn to turn, 99th percentile")),
                wait("wait_p999_s", "from turn to turn, 99.9th percentile"),
                wait("wait_max_s", "from turn to turn, the longest of a round"),
            ]
        },
        cases: cases.collect(),
        able: const {
            &[
                Contestant::Furwock,
                Contestant::FurwockPreload,
                Contestant::Glibc,
                Contestant::Kernel,
                Contestant::Std,
                Contestant::ParkingLot,
                Contestant::Usync,
                Contestant::Nsync,
                Contestant::Absl,
                Contestant::EventListener,
                Contestant::Eventfd,
            ]
        },
        lacking: "way for one thread to wake another",
        unable: |case, _contestant| {
            let needs_two = case.parameter("place") == Some(DIFFERENT);
            (needs_two && cpus() < 2).then(|| "there is one CPU".to_owned())
        },
    }
}
