//! `furwock bench hash`, `wake`, `wake-parallel`, `requeue` and `lock-pi`: perf's futex benchmarks, with
//! perf's options and units.

use std::thread::available_parallelism;

use clap::Args;

use super::super::benchmark::{Benchmark, Case, Place, all_able, or_default};
use super::super::common::{Common, NOTES};
use super::super::contestant::{Contestant, WORDS};
use super::super::figure::{Better, CPU, Figure, PREEMPTIONS, SWITCHES, Unit, detail, wait};
use super::super::sections::Sections;
use super::{count, threads};

/// Waits on words that don't hold what is expected: the way into the table and out again
///
/// As `perf bench futex hash`: each thread has its own words, and operations a second and thread count.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct HashArguments {
    /// Numbers of threads [default: 1 and as many as CPUs]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Words of each thread [default: 1024]
    #[arg(short = 'f', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    pub futexes: Vec<u32>,

    /// Words that processes may share: the kernel's queues, for all
    #[arg(short = 'S', long)]
    pub shared: bool,

    #[command(flatten)]
    pub common: Common,
}

/// Wakes threads that sleep on one word
///
/// As `perf bench futex wake`: the time until the waker has woken all. Beside it, what processor time that
/// took the waker, and when the last thread was awake, by which they are ranked if it wakes many at a time.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct WakeArguments {
    /// Numbers of threads that sleep [default: 4,64,256]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// How many to wake at a time
    #[arg(short = 'w', long, value_name = "N", default_value = "1", value_parser = count)]
    pub nwakes: u32,

    /// Words that processes may share: the kernel's queues, for all
    #[arg(short = 'S', long)]
    pub shared: bool,

    #[command(flatten)]
    pub common: Common,
}

/// Several wakers wake threads that sleep on one word
///
/// As `perf bench futex wake-parallel`: each waker wakes its share at once. Ranked is by when the last
/// thread was awake; perf's figure, a waker's time, is beside it.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct WakeParallelArguments {
    /// Numbers of threads that sleep [default: 64,256]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// How many threads wake them [default: as many as CPUs]
    #[arg(short = 'w', long, value_name = "N", value_parser = threads)]
    pub nwakers: Option<u32>,

    /// Words that processes may share: the kernel's queues, for all
    #[arg(short = 'S', long)]
    pub shared: bool,

    #[command(flatten)]
    pub common: Common,
}

/// Moves threads that sleep on one word to another
///
/// As `perf bench futex requeue`: the time until all are there. (parking_lot moves one or all.)
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct RequeueArguments {
    /// Numbers of threads that sleep [default: 4,64,256]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// How many to move at a time
    #[arg(short = 'q', long, value_name = "N", default_value = "1", value_parser = count)]
    pub nrequeue: u32,

    /// Move all at once
    #[arg(short = 'B', long, conflicts_with = "nrequeue")]
    pub broadcast: bool,

    /// Words that processes may share: the kernel's queues, for all
    #[arg(short = 'S', long)]
    pub shared: bool,

    #[command(flatten)]
    pub common: Common,
}

/// Threads that contend for a mutex that inherits priorities
///
/// After `perf bench futex lock-pi`, but that the holder works where perf's sleeps: it is the lock that is
/// to be measured.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct LockPiArguments {
    /// Numbers of threads [default: 1,2,16]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Microseconds of work inside and outside of the lock [default: 1/1,10/10]
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = Sections::parse)]
    pub sections: Vec<Sections>,

    /// A mutex for each thread, so that nobody contends
    #[arg(short = 'M', long)]
    pub multi: bool,

    #[command(flatten)]
    pub common: Common,
}

const A_THREAD: Figure = Figure {
    name: "ops_per_second_per_thread",
    title: "operations a second and thread (±: half the range of the rounds, in percent)",
    unit: Unit::PerSecond,
    better: Better::More,
    detail: false,
};

const fn time(name: &'static str, title: &'static str) -> Figure {
    Figure { name, title, unit: Unit::Time, better: Better::Less, detail: false }
}

const LAST_AWAKE: Figure = time("awake_s", "until the last thread is awake");
const WAKER: Figure = time("wake_s", "until the waker's calls for all have returned");
const WAKER_CPU: Figure = waker_cpu("the waker's processor time for that");

const fn waker_cpu(title: &'static str) -> Figure {
    wait("waker_cpu_s", title)
}

/// Those who can be woken by count.
const SLEEPERS: &[Contestant] = &[
    Contestant::Furwock,
    Contestant::FurwockPreload,
    Contestant::Kernel,
    Contestant::ParkingLot,
    Contestant::EventListener,
    Contestant::Eventfd,
];

const HASHERS: &[Contestant] = &[
    Contestant::Furwock,
    Contestant::FurwockTable,
    Contestant::FurwockPreload,
    Contestant::Kernel,
    Contestant::ParkingLot,
];

/// The benchmark on words that processes may share, if it is so.
fn shared_if(shared: bool, mut benchmark: Benchmark) -> Benchmark {
    if shared {
        benchmark.cases.iter_mut().for_each(|case| case.parameters.push(("shared", 1.0)));
        benchmark.able =
            const { &[Contestant::Furwock, Contestant::FurwockPreload, Contestant::Kernel] };
        benchmark.lacking = "waits on words that processes share";
    }
    benchmark
}

pub fn cpus() -> u32 {
    available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

pub fn hash(arguments: &HashArguments) -> Benchmark {
    let futexes = or_default(&arguments.futexes, &[1024]);
    let default = if cpus() == 1 { vec![1] } else { vec![1, cpus()] };
    let threads = or_default(&arguments.threads, &default);
    let of = |futexes: &u32| -> Vec<Case> {
        threads.iter().map(|threads| hash_case(*threads, *futexes)).collect()
    };
    shared_if(arguments.shared, hash_of_cases(futexes.iter().flat_map(of).collect()))
}

pub fn hash_of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "hash",
        title: "Futex hash",
        workload: "hash",
        counts_turns: false,
        draws: false,
        case_key: "Cases: threads x words of each.",
        what: "Each thread waits on its own words in turn, which don't hold what it expects: nothing but the \
               way into the table and out again is measured. furwock looks at the word first, and needs \
               no table then; furwock-table takes the bucket's lock each time.",
        figures: const { &[A_THREAD, CPU] },
        cases,
        able: HASHERS,
        lacking: "waits on words",
        unable: all_able,
    }
}

pub fn hash_case(threads: u32, futexes: u32) -> Case {
    Case {
        name: format!("{threads} x {futexes}"),
        parameters: vec![("threads", threads.into()), ("futexes", futexes.into())],
        bound: None,
        place: Place {
            series: format!("{threads} threads"),
            x: futexes.into(),
            x_title: "words of each thread",
        },
    }
}

pub fn wake(arguments: &WakeArguments) -> Benchmark {
    let threads = or_default(&arguments.threads, &[4, 64, 256]);
    let cases = threads.into_iter().map(|threads| wake_case(threads, arguments.nwakes)).collect();
    // A waker that wakes some, who wake the others, is done before they are awake: where one call wakes
    // many, it's the last of them who ranks.
    let figures: &[Figure] =
        if arguments.nwakes == 1 { const { &[WAKER, WAKER_CPU, LAST_AWAKE] } } else { BY_THE_LAST };
    shared_if(arguments.shared, Benchmark { figures, ..wake_of_cases(cases) })
}

/// The figures where it's the last who ranks.
pub const BY_THE_LAST: &[Figure] = &[LAST_AWAKE, WAKER, WAKER_CPU];

pub fn wake_of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "wake",
        title: "Futex wake",
        workload: "wake",
        counts_turns: false,
        draws: false,
        case_key: "Cases: threads, woken so many at a time.",
        what: "Threads sleep on one word; one thread wakes them. With furwock's own calls a wake of many \
               wakes a few of them, who wake the others: the waker's time and the time until the last is \
               awake are apart.",
        figures: const { &[WAKER, WAKER_CPU, LAST_AWAKE] },
        cases,
        able: SLEEPERS,
        lacking: "sleepers that can be counted out",
        unable: all_able,
    }
}

pub fn wake_case(threads: u32, nwakes: u32) -> Case {
    Case {
        name: format!("{threads}, {nwakes} at a time"),
        parameters: vec![("threads", threads.into()), ("nwakes", nwakes.into())],
        bound: None,
        place: Place {
            series: format!("{nwakes} at a time"),
            x: threads.into(),
            x_title: "threads",
        },
    }
}

pub fn wake_parallel(arguments: &WakeParallelArguments) -> Benchmark {
    let wakers = arguments.nwakers.unwrap_or_else(cpus);
    // perf's rule too: shares are equal.
    // (More than there can be stays so, and is refused for it.)
    let even = |threads: u32| threads.checked_next_multiple_of(wakers).unwrap_or(u32::MAX);
    let threads = or_default(&arguments.threads, &[64, 256]).into_iter().map(even);
    let case = |threads: u32| Case {
        name: format!("{threads} by {wakers}"),
        parameters: vec![("threads", threads.into()), ("nwakers", wakers.into())],
        bound: None,
        place: Place { series: format!("{wakers} wakers"), x: threads.into(), x_title: "threads" },
    };
    let benchmark = Benchmark {
        name: "wake-parallel",
        title: "Futex wake, in parallel",
        workload: "wake-parallel",
        counts_turns: false,
        draws: false,
        case_key: "Cases: threads, woken by so many wakers. (Threads are rounded up to equal shares.)",
        what: "Threads sleep on one word; several threads wake their shares of them at the same time.",
        figures: const {
            &[
                LAST_AWAKE,
                time("wake_s", "until a waker's calls for its share have returned"),
                waker_cpu("a waker's processor time for that"),
            ]
        },
        cases: threads.map(case).collect(),
        able: SLEEPERS,
        lacking: "sleepers that can be counted out",
        unable: all_able,
    };
    shared_if(arguments.shared, benchmark)
}

pub fn requeue(arguments: &RequeueArguments) -> Benchmark {
    let threads = or_default(&arguments.threads, &[4, 64, 256]);
    let case = |threads: u32| {
        let at_a_time = if arguments.broadcast { threads } else { arguments.nrequeue };
        let how = if arguments.broadcast { "all at once" } else { "at a time" };
        Case {
            name: match arguments.broadcast {
                true => format!("{threads}, {how}"),
                false => format!("{threads}, {at_a_time} {how}"),
            },
            parameters: vec![("threads", threads.into()), ("nrequeue", at_a_time.into())],
            bound: None,
            place: Place { series: how.to_owned(), x: threads.into(), x_title: "threads" },
        }
    };
    shared_if(arguments.shared, requeue_of_cases(threads.into_iter().map(case).collect()))
}

pub fn requeue_of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "requeue",
        title: "Futex requeue",
        workload: "requeue",
        counts_turns: false,
        draws: false,
        case_key: "Cases: threads, moved so many at a time.",
        what: "Threads sleep on one word; one thread moves them to another word, where they sleep on.",
        figures: const {
            &[time("requeue_s", "until all are moved"), waker_cpu("processor time for that")]
        },
        cases,
        able: WORDS,
        lacking: "waits on words",
        unable: |case, contestant| {
            let (threads, moved) = (case.parameter("threads")?, case.parameter("nrequeue")?);
            let some = moved > 1.0 && moved < threads;
            (contestant == Contestant::ParkingLot && some)
                .then(|| "it moves one, or all".to_owned())
        },
    }
}

pub fn lock_pi(arguments: &LockPiArguments) -> Benchmark {
    let threads = or_default(&arguments.threads, &[1, 2, 16]);
    let sections =
        or_default(&arguments.sections, &[Sections::new(1.0, 1.0), Sections::new(10.0, 10.0)]);
    let case = |sections: Sections, threads: u32| Case {
        name: format!("{} x {threads}", sections.name()),
        parameters: vec![
            ("cs", sections.critical_us),
            ("ncs", sections.other_us),
            ("threads", threads.into()),
            ("sample", sections.sample()),
            ("multi", f64::from(u8::from(arguments.multi))),
        ],
        bound: Some(sections.bound(threads, if arguments.multi { threads } else { 1 }))
            .map(|bound| bound / f64::from(threads)),
        place: Place {
            series: format!("{} us inside/outside", sections.name()),
            x: threads.into(),
            x_title: "threads",
        },
    };
    let cases = sections
        .into_iter()
        .flat_map(|sections| threads.iter().map(move |threads| case(sections, *threads)));
    Benchmark {
        name: "lock-pi",
        title: "Mutex with priority inheritance",
        workload: "lock-pi",
        counts_turns: false,
        draws: false,
        case_key: "Cases: microseconds of work inside/outside of the lock x threads.",
        what: "Threads take one mutex that inherits priorities. Waiting is the kernel's with all of them, as \
               it must be; taking a free one isn't. (The preload leaves such mutexes to glibc.)",
        figures: const {
            &[
                A_THREAD,
                detail(wait("wait_p99_s", "wait, 99th percentile")),
                wait("wait_p999_s", "wait, 99.9th percentile"),
                wait("wait_max_s", "longest wait of a round"),
                CPU,
                SWITCHES,
                PREEMPTIONS,
            ]
        },
        cases: cases.collect(),
        able: const {
            &[
                Contestant::Furwock,
                Contestant::FurwockPreload,
                Contestant::Glibc,
                Contestant::Kernel,
            ]
        },
        lacking: "priority inheritance",
        unable: all_able,
    }
}
