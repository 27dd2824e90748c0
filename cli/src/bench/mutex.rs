//! `furwock bench mutex`: its cases, and the figures that it shows.

use super::arguments::MutexArguments;
use super::case::{Case, Sections, or_default};
use super::contention::Benchmark;
use super::figure_table::{CPU, Figure, OPERATIONS, Unit};

const FIGURES: [Figure; 4] = [
    OPERATIONS,
    Figure { name: "wait_p999_s", title: "wait for the lock, 99.9th percentile", unit: Unit::Time },
    Figure { name: "wait_max_s", title: "longest wait of a round", unit: Unit::Time },
    CPU,
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
        threads.iter().map(|threads| case(*sections, *threads, arguments.pin)).collect()
    };
    Benchmark {
        name: "mutex",
        workload: "mutex",
        draws: false,
        case_key: "Cases: microseconds of work inside/outside of the lock x threads.",
        figures: &FIGURES,
        cases: sections.iter().flat_map(of_sections).collect(),
    }
}

fn case(sections: Sections, threads: u32, pin: bool) -> Case {
    Case {
        name: format!("{}/{} x {threads}", sections.critical_us, sections.other_us),
        parameters: vec![
            ("cs", sections.critical_us),
            ("ncs", sections.other_us),
            ("threads", threads.into()),
            ("sample", sections.sample()),
            ("pin", f64::from(u8::from(pin))),
        ],
    }
}
