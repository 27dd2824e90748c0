//! `furwock bench rwlock`: its cases, and the figures that it shows.

use super::arguments::RwlockArguments;
use super::case::{Case, Sections, or_default};
use super::contention::Benchmark;
use super::figure_table::{CPU, Figure, OPERATIONS, Unit};

const FIGURES: [Figure; 5] = [
    OPERATIONS,
    Figure {
        name: "read_wait_p999_s",
        title: "readers' wait, 99.9th percentile",
        unit: Unit::Time,
    },
    Figure {
        name: "write_wait_p999_s",
        title: "writers' wait, 99.9th percentile",
        unit: Unit::Time,
    },
    Figure {
        name: "write_wait_max_s",
        title: "longest wait of a writer in a round",
        unit: Unit::Time,
    },
    CPU,
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
            cases.extend(threads.iter().map(|threads| case(*writes, *sections, *threads)));
        }
    }
    Benchmark {
        name: "rwlock",
        workload: "rwlock",
        draws: true,
        case_key: "Cases: percentage of writes, microseconds of work inside/outside of the lock x threads.",
        figures: &FIGURES,
        cases,
    }
}

fn case(writes: f64, sections: Sections, threads: u32) -> Case {
    let sample = sections.sample();
    Case {
        name: format!("{writes}% {}/{} x {threads}", sections.critical_us, sections.other_us),
        parameters: vec![
            ("writes", writes),
            ("cs", sections.critical_us),
            ("ncs", sections.other_us),
            ("threads", threads.into()),
            ("sample", sample),
            ("write_sample", if writes <= FEW_WRITES { 1.0 } else { sample }),
        ],
    }
}
