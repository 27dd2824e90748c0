//! `furwock bench rwlock`: its command line, its cases, and the figures that it shows.

use clap::Args;

use super::super::benchmark::{Benchmark, Case, Place, all_able, or_default};
use super::super::common::{Common, NOTES};
use super::super::contestant::LOCKS;
use super::super::figure::{
    CPU, Figure, JAIN, LEAST_SHARE, OPERATIONS, PREEMPTIONS, SWITCHES, detail, wait,
};
use super::super::sections::Sections;
use super::threads;

/// Threads that read and write behind one reader-writer lock
///
/// Without options: about 3 minutes. The tables show medians over the rounds. Which operations are
/// writes is drawn at random, the same draws for all implementations in a round.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct RwlockArguments {
    /// Numbers of threads [default: 2,16; with --full 2,4,16]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Percentages of writes [default: 0,1,10,50; with --full 0,0.1,1,10,50]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = percentage)]
    pub writes: Vec<f64>,

    /// Microseconds of work inside the lock, and outside of it if named [default: 0,2; with --full
    /// 0,0.2,2]
    #[arg(long, value_name = "CS[/NCS],...", value_delimiter = ',', value_parser = Sections::parse)]
    pub sections: Vec<Sections>,

    #[command(flatten)]
    pub common: Common,
}

fn percentage(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("not a percentage between 0 and 100".to_owned()),
    }
}

const FIGURES: &[Figure] = &[
    OPERATIONS,
    wait("read_wait_p999_s", "readers' wait, 99.9th percentile"),
    wait("write_wait_p999_s", "writers' wait, 99.9th percentile"),
    wait("write_wait_max_s", "longest wait of a writer in a round"),
    detail(wait("wait_p50_s", "wait of all, median")),
    detail(wait("wait_p99_s", "wait of all, 99th percentile")),
    CPU,
    SWITCHES,
    PREEMPTIONS,
    JAIN,
    LEAST_SHARE,
];

const THREADS: [u32; 2] = [2, 16];
const WRITES: [f64; 4] = [0.0, 1.0, 10.0, 50.0];
const SECTIONS: [Sections; 2] = [Sections::new(0.0, 0.0), Sections::new(2.0, 0.0)];

const THREADS_FULL: [u32; 3] = [2, 4, 16];
const WRITES_FULL: [f64; 5] = [0.0, 0.1, 1.0, 10.0, 50.0];
const SECTIONS_FULL: [Sections; 3] =
    [Sections::new(0.0, 0.0), Sections::new(0.2, 0.0), Sections::new(2.0, 0.0)];

/// Up to this percentage of writes each is timed: they are few, and it is their waits that matter.
const FEW_WRITES: f64 = 10.0;

pub fn benchmark(arguments: &RwlockArguments) -> Benchmark {
    let full = arguments.common.full;
    let threads =
        or_default(&arguments.threads, if full { &THREADS_FULL[..] } else { &THREADS[..] });
    let writes = or_default(&arguments.writes, if full { &WRITES_FULL[..] } else { &WRITES[..] });
    let sections =
        or_default(&arguments.sections, if full { &SECTIONS_FULL[..] } else { &SECTIONS[..] });
    let mut cases = Vec::new();
    for writes in &writes {
        for sections in &sections {
            let of = |threads: &u32| case(*writes, *sections, *threads);
            cases.extend(threads.iter().map(of));
        }
    }
    of_cases(cases)
}

pub fn of_cases(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        name: "rwlock",
        title: "Reader-writer lock",
        workload: "rwlock",
        counts_turns: false,
        draws: true,
        case_key: "Cases: percentage of writes, microseconds of work inside/outside of the lock x threads.",
        what: "Threads take one rwlock again and again, to read or, by the throw of a die, to write.",
        figures: FIGURES,
        cases,
        able: LOCKS,
        lacking: "rwlock",
        unable: all_able,
    }
}

pub fn case(writes: f64, sections: Sections, threads: u32) -> Case {
    let sample = sections.sample();
    Case {
        name: format!("{writes}% {} x {threads}", sections.name()),
        parameters: vec![
            ("writes", writes),
            ("cs", sections.critical_us),
            ("ncs", sections.other_us),
            ("threads", threads.into()),
            ("sample", sample),
            ("write_sample", if writes <= FEW_WRITES { 1.0 } else { sample }),
        ],
        // Readers share; nothing can exceed what the processors can do.
        bound: Some(sections.bound(threads, if writes < 100.0 { threads } else { 1 })),
        place: Place {
            series: format!("{writes} % writes, {} us inside/outside", sections.name()),
            x: threads.into(),
            x_title: "threads",
        },
    }
}
