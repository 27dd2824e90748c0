//! `furwock bench cond`, `pp` and `queue`: mutexes with condition variables.

use clap::Args;

use super::super::benchmark::{Benchmark, Case, Place, all_able, or_default};
use super::super::common::{Common, NOTES};
use super::super::contestant::MONITORS;
use super::super::figure::{Better, CPU, Figure, PREEMPTIONS_EACH, SWITCHES_EACH, Unit, wait};
use super::{count, threads};

/// cond-perf: a broadcast wakes many threads, each of which must have the mutex
///
/// The test of the 2003 requeue patch, with its options.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
// `-r` is the test's own here, as it is for nobody else.
#[command(mut_arg("seconds", |seconds| seconds.short_alias(None)))]
pub struct CondArguments {
    /// Numbers of threads that wait [default: 16,100,200,1000]
    #[arg(short = 'n', short_alias = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Rounds of broadcasts [default: as many as take a fraction of a second]
    #[arg(short = 'r', long = "broadcasts", value_name = "N", value_parser = count)]
    pub broadcasts: Option<u32>,

    /// Only with the mutex held during the broadcast, or only after it was released [default: both]
    #[arg(short = 'k', long, value_name = "yes|no", value_parser = clap::value_parser!(Kept))]
    pub mutex_kept: Option<Kept>,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kept {
    Yes,
    No,
}

/// pp: pairs of threads pass a turn to one another by a mutex and a condition variable
///
/// The test of the 2003 requeue patch, with its options.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct PpArguments {
    /// Numbers of games, of two threads each [default: 1,128,1024]
    #[arg(short = 'n', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    pub games: Vec<u32>,

    /// Turns of each player [default: as many as take a fraction of a second]
    #[arg(short = 'i', long, value_name = "N", value_parser = count)]
    pub iterations: Option<u32>,

    /// Bytes of each thread's stack
    #[arg(short = 'S', long, value_name = "BYTES", default_value = "32768", value_parser = count)]
    pub stack: u32,

    #[command(flatten)]
    pub common: Common,
}

/// Producers and consumers at a bounded queue with two condition variables
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct QueueArguments {
    /// Producers to consumers [default: 1/1,4/4,16/16,1/16,16/1]
    #[arg(short = 't', long, value_name = "P/C,...", value_delimiter = ',', value_parser = pair)]
    pub threads: Vec<(u32, u32)>,

    /// Items that the queue has room for
    #[arg(long, value_name = "N", default_value = "16", value_parser = count)]
    pub capacity: u32,

    /// Items in a round
    #[arg(long, value_name = "N", default_value = "100000", value_parser = count)]
    pub items: u32,

    #[command(flatten)]
    pub common: Common,
}

pub fn pair(text: &str) -> Result<(u32, u32), String> {
    let (one, other) = text.split_once('/').ok_or("not two numbers of threads, as in 4/4")?;
    Ok((threads(one)?, threads(other)?))
}

const A_ROUND: Figure = Figure {
    name: "seconds_per_round",
    title: "time from a broadcast until all have had the mutex (±: half the range, in percent)",
    unit: Unit::Time,
    better: Better::Less,
    detail: false,
};
const ALL: Figure = Figure {
    name: "seconds",
    title: "time for all (±: half the range of the rounds, in percent)",
    unit: Unit::Time,
    better: Better::Less,
    detail: false,
};
const ITEMS: Figure = Figure {
    name: "items_per_second",
    title: "items a second (±: half the range of the rounds, in percent)",
    unit: Unit::PerSecond,
    better: Better::More,
    detail: false,
};

/// As many broadcasts as wake about so many threads.
const WAKES: u32 = 20_000;
/// As many turns in all.
const TURNS: u32 = 100_000;

pub fn cond(arguments: &CondArguments) -> Benchmark {
    let threads = or_default(&arguments.threads, &[16, 100, 200, 1000]);
    let kept = arguments.mutex_kept.map_or(vec![Kept::No, Kept::Yes], |kept| vec![kept]);
    let of = |kept: Kept| -> Vec<Case> {
        let case = |threads: u32| {
            let rounds = arguments.broadcasts.unwrap_or((WAKES / threads).max(5));
            cond_case(threads, rounds, kept == Kept::Yes)
        };
        threads.iter().copied().map(case).collect()
    };
    cond_of_cases(kept.into_iter().flat_map(of).collect())
}

pub fn cond_of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "cond",
        title: "Condition variable: broadcast",
        workload: "cond-perf",
        counts_turns: true,
        draws: false,
        case_key: "Cases: threads that wait, and whether the mutex is held during the broadcast.",
        what: "Many threads wait on a condition variable. A broadcast ends the wait of all, and each must \
               have the mutex before it goes on: whoever wakes them all makes a swarm of them.",
        figures: const { &[A_ROUND, ALL, CPU, SWITCHES_EACH, PREEMPTIONS_EACH] },
        cases,
        able: MONITORS,
        lacking: "condition variables",
        unable: all_able,
    }
}

pub fn cond_case(threads: u32, rounds: u32, kept: bool) -> Case {
    let how = if kept { "held" } else { "released" };
    Case {
        name: format!("{threads}, {how}"),
        parameters: vec![
            ("threads", threads.into()),
            ("rounds", rounds.into()),
            ("mutex-kept", f64::from(u8::from(kept))),
        ],
        bound: None,
        place: Place {
            series: format!("mutex {how} during the broadcast"),
            x: threads.into(),
            x_title: "threads",
        },
    }
}

pub fn pp(arguments: &PpArguments) -> Benchmark {
    let case = |games: u32| {
        let iterations = arguments.iterations.unwrap_or((TURNS / 2 / games).max(10));
        pp_case(games, iterations, arguments.stack)
    };
    let games = or_default(&arguments.games, &[1, 128, 1024]);
    pp_of_cases(games.into_iter().map(case).collect())
}

pub fn pp_of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "pp",
        title: "Condition variable: ping-pong",
        workload: "pp",
        counts_turns: true,
        draws: false,
        case_key: "Cases: games of two threads x turns of each player.",
        what: "In each game two threads pass a turn to one another by a mutex and a condition variable; all \
               games are played at the same time.",
        figures: const { &[ALL, CPU, SWITCHES_EACH, PREEMPTIONS_EACH] },
        cases,
        able: MONITORS,
        lacking: "condition variables",
        unable: all_able,
    }
}

pub fn pp_case(games: u32, iterations: u32, stack: u32) -> Case {
    Case {
        name: format!("{games} x {iterations}"),
        parameters: vec![
            ("games", games.into()),
            ("iterations", iterations.into()),
            ("stack", stack.into()),
        ],
        bound: None,
        place: Place { series: "all".to_owned(), x: games.into(), x_title: "games" },
    }
}

pub fn queue(arguments: &QueueArguments) -> Benchmark {
    let default = [(1, 1), (4, 4), (16, 16), (1, 16), (16, 1)];
    let case = |(producers, consumers): (u32, u32)| Case {
        name: format!("{producers} to {consumers}"),
        parameters: vec![
            ("producers", producers.into()),
            ("consumers", consumers.into()),
            ("capacity", arguments.capacity.into()),
            ("items", arguments.items.into()),
        ],
        bound: None,
        place: Place {
            series: if producers == consumers { "as many of each" } else { "uneven" }.to_owned(),
            x: f64::from(producers + consumers),
            x_title: "threads",
        },
    };
    Benchmark {
        name: "queue",
        title: "Bounded queue",
        workload: "queue",
        counts_turns: true,
        draws: false,
        case_key: "Cases: producers to consumers.",
        what: "Producers put items into a queue that has room for few, consumers take them out; a mutex and \
               two condition variables.",
        figures: const {
            &[ITEMS, CPU, SWITCHES_EACH, PREEMPTIONS_EACH, wait("seconds", "time for all")]
        },
        cases: or_default(&arguments.threads, &default).into_iter().map(case).collect(),
        able: MONITORS,
        lacking: "condition variables",
        unable: all_able,
    }
}
