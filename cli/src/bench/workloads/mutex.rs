//! `furwock bench mutex`: its command line, its cases, and the figures that it shows.

use clap::Args;

use super::super::benchmark::{Benchmark, Case, Place, all_able, or_default};
use super::super::common::{Common, NOTES};
use super::super::contestant::LOCKS;
use super::super::figure::{
    CPU, Figure, JAIN, LEAST_SHARE, OPERATIONS, PREEMPTIONS, SWITCHES, detail, wait,
};
use super::super::sections::Sections;
use super::threads;

/// Threads that contend for one mutex
///
/// Without options: about 3 minutes. The tables show medians over the rounds.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct MutexArguments {
    /// Numbers of threads [default: 2,4,16,64; with --full 1 too]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Microseconds of work inside and outside of the lock [default: 0/0,0.1/0.1,1/1,10/10; with
    /// --full 1/5,50/50 too]
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = Sections::parse)]
    pub sections: Vec<Sections>,

    #[command(flatten)]
    pub common: Common,
}

/// What threads have in common that contend for something.
pub const CONTENTION: &[Figure] = &[
    OPERATIONS,
    detail(wait("wait_p50_s", "wait, median")),
    detail(wait("wait_p99_s", "wait, 99th percentile")),
    wait("wait_p999_s", "wait, 99.9th percentile"),
    wait("wait_max_s", "longest wait of a round"),
    CPU,
    SWITCHES,
    PREEMPTIONS,
    JAIN,
    LEAST_SHARE,
];

const THREADS: [u32; 4] = [2, 4, 16, 64];
const SECTIONS: [Sections; 4] = [
    Sections::new(0.0, 0.0),
    Sections::new(0.1, 0.1),
    Sections::new(1.0, 1.0),
    Sections::new(10.0, 10.0),
];

const THREADS_FULL: [u32; 5] = [1, 2, 4, 16, 64];
const SECTIONS_FULL: [Sections; 6] = [
    Sections::new(0.0, 0.0),
    Sections::new(0.1, 0.1),
    Sections::new(1.0, 1.0),
    Sections::new(1.0, 5.0),
    Sections::new(10.0, 10.0),
    Sections::new(50.0, 50.0),
];

pub fn benchmark(arguments: &MutexArguments) -> Benchmark {
    let full = arguments.common.full;
    let threads =
        or_default(&arguments.threads, if full { &THREADS_FULL[..] } else { &THREADS[..] });
    let sections =
        or_default(&arguments.sections, if full { &SECTIONS_FULL[..] } else { &SECTIONS[..] });
    let of_sections = |sections: &Sections| -> Vec<Case> {
        threads.iter().map(|threads| case(*sections, *threads)).collect()
    };
    of_cases(sections.iter().flat_map(of_sections).collect())
}

pub fn of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "mutex",
        title: "Mutex",
        workload: "mutex",
        counts_turns: false,
        draws: false,
        case_key: "Cases: microseconds of work inside/outside of the lock x threads.",
        what: "Threads take one mutex again and again, work inside of it, and work outside of it.",
        figures: CONTENTION,
        cases,
        able: LOCKS,
        lacking: "mutex",
        unable: all_able,
    }
}

pub fn case(sections: Sections, threads: u32) -> Case {
    Case {
        name: format!("{} x {threads}", sections.name()),
        parameters: vec![
            ("cs", sections.critical_us),
            ("ncs", sections.other_us),
            ("threads", threads.into()),
            ("sample", sections.sample()),
        ],
        bound: Some(sections.bound(threads, 1)),
        place: Place {
            series: format!("{} us inside/outside", sections.name()),
            x: threads.into(),
            x_title: "threads",
        },
    }
}
