//! `furwock bench sem` and `barrier`.

use clap::Args;

use super::super::benchmark::{Benchmark, Case, Place, all_able, or_default};
use super::super::common::{Common, NOTES};
use super::super::contestant::{Contestant, MONITORS};
use super::super::figure::{Better, CPU, Figure, Unit};
use super::super::sections::{Sections, microseconds};
use super::mutex::CONTENTION;
use super::{count, threads};

/// Threads that share a semaphore's permits
///
/// Who has no semaphore is measured with what people build instead: a count, a mutex and a condition
/// variable.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct SemArguments {
    /// Numbers of threads [default: 2,16,64]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Permits that they share [default: 1,2]
    #[arg(short = 'p', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    pub permits: Vec<u32>,

    /// Microseconds of work with a permit and without [default: 0/0,1/1,10/10]
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = Sections::parse)]
    pub sections: Vec<Sections>,

    #[command(flatten)]
    pub common: Common,
}

/// Threads that meet at a barrier, round after round
///
/// Who has no barrier is measured with what people build instead: a count, a mutex and a condition
/// variable.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct BarrierArguments {
    /// Numbers of threads [default: 2,4,16,64]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Microseconds of work between two meetings [default: 0,10]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = microseconds)]
    pub work: Vec<f64>,

    #[command(flatten)]
    pub common: Common,
}

const A_ROUND: Figure = Figure {
    name: "seconds_per_round",
    title: "time a round (±: half the range of the rounds, in percent)",
    unit: Unit::Time,
    better: Better::Less,
    detail: false,
};
const SWITCHES: Figure = Figure {
    name: "voluntary_per_op",
    title: "voluntary context switches a thread and round",
    unit: Unit::Index,
    better: Better::Less,
    detail: true,
};

const SEMAPHORES: &[Contestant] = &[
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
];

pub fn sem(arguments: &SemArguments) -> Benchmark {
    let threads = or_default(&arguments.threads, &[2, 16, 64]);
    let permits = or_default(&arguments.permits, &[1, 2]);
    let default = [Sections::new(0.0, 0.0), Sections::new(1.0, 1.0), Sections::new(10.0, 10.0)];
    let sections = or_default(&arguments.sections, &default);
    let mut cases = Vec::new();
    for permits in permits {
        for sections in &sections {
            cases.extend(threads.iter().map(|threads| sem_case(permits, *sections, *threads)));
        }
    }
    Benchmark {
        name: "sem",
        title: "Semaphore",
        workload: "sem",
        counts_turns: false,
        draws: false,
        case_key: "Cases: permits, microseconds of work with one/without x threads.",
        what: "Threads take a permit of one semaphore, work, give it back, and work again.",
        figures: CONTENTION,
        cases,
        able: SEMAPHORES,
        lacking: "semaphores",
        unable: all_able,
    }
}

fn sem_case(permits: u32, sections: Sections, threads: u32) -> Case {
    Case {
        name: format!("{permits}: {} x {threads}", sections.name()),
        parameters: vec![
            ("permits", permits.into()),
            ("cs", sections.critical_us),
            ("ncs", sections.other_us),
            ("threads", threads.into()),
            ("sample", sections.sample()),
        ],
        bound: Some(sections.bound(threads, permits)),
        place: Place {
            series: format!("permits: {permits}, {} us with/without one", sections.name()),
            x: threads.into(),
            x_title: "threads",
        },
    }
}

pub fn barrier(arguments: &BarrierArguments) -> Benchmark {
    let threads = or_default(&arguments.threads, &[2, 4, 16, 64]);
    let case = |work: f64, threads: u32| Case {
        name: format!("{work} us x {threads}"),
        parameters: vec![("threads", threads.into()), ("ncs", work)],
        bound: None,
        place: Place {
            series: format!("{work} us of work between"),
            x: threads.into(),
            x_title: "threads",
        },
    };
    let works = or_default(&arguments.work, &[0.0, 10.0]);
    let cases = works.into_iter().flat_map(|work| threads.iter().map(move |n| case(work, *n)));
    Benchmark {
        name: "barrier",
        title: "Barrier",
        workload: "barrier",
        counts_turns: false,
        draws: false,
        case_key: "Cases: microseconds of work between two meetings x threads.",
        what: "Threads meet at a barrier, work, and meet again.",
        figures: const { &[A_ROUND, CPU, SWITCHES] },
        cases: cases.collect(),
        able: MONITORS,
        lacking: "barriers",
        unable: all_able,
    }
}
