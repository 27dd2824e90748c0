//! 1. Requeueing, 2003.

use super::super::benchmark::Benchmark;
use super::super::contestant::Contestant;
use super::super::workloads::condvars::{cond_case, cond_of_cases, pp_case, pp_of_cases};
use super::super::workloads::words::cpus;
use super::row::{Document, Gain, Measured, Place, Row, Verdict};
use crate::measuring::number::{self, with_unit};

pub const DOCUMENT: Document = Document {
    number: 1,
    year: 2003,
    title: "Requeueing: a broadcast wakes no swarm",
    source: "Ingo Molnar, \"futex requeueing feature\", 19 May 2003; measured by Saurabh Desai on four \
             Pentium III of 700 MHz",
    text: &[
        "Many threads wait at a condition variable. Who is woken must have the mutex; a broadcast that wakes \
         them all makes a swarm that runs into the mutex and sleeps again. Requeueing wakes one, and moves the \
         others to the mutex's queue.",
        "The tests are the document's, cond-perf and pp, with its options; seconds for the whole run. Measured \
         are unmodified pthread calls, on this system's glibc (which has no requeueing since 2.25) and with \
         furwock's library beneath them. The published column is that of the machine with as many processors \
         as this one, or of the nearest.",
    ],
    benchmarks,
    rows,
};

const OURS: Contestant = Contestant::FurwockPreload;
const THEIRS: Contestant = Contestant::Glibc;
const CONTESTANTS: &[Contestant] =
    &[Contestant::Furwock, OURS, THEIRS, Contestant::Std, Contestant::ParkingLot];

/// A test of the document's: its options, and its seconds before and after, on 1, 2 and 4 processors.
struct Test {
    name: &'static str,
    benchmark: &'static str,
    case: &'static str,
    published: [(f64, f64); 3],
}

const TESTS: [Test; 4] = [
    Test {
        name: "cond-perf -r 100 -n 200",
        benchmark: "cond",
        case: "200, released",
        published: [(0.120, 0.124), (0.211, 0.156), (237.407, 0.040)],
    },
    Test {
        name: "cond-perf -r 1000 -n 100",
        benchmark: "cond",
        case: "100, released",
        published: [(0.276, 0.349), (0.412, 0.503), (0.530, 0.550)],
    },
    Test {
        name: "pp -v -n 128 -i 1000 -S 32768",
        benchmark: "pp",
        case: "128 x 1000",
        published: [(1.111, 1.111), (1.270, 1.959), (16.894, 2.426)],
    },
    Test {
        name: "pp -v -n 1024 -i 10 -S 32768",
        benchmark: "pp",
        case: "1024 x 10",
        // It had not ended after two minutes.
        published: [(0.181, 0.166), (0.394, 0.254), (120.0, 0.341)],
    },
];

fn benchmarks() -> Vec<Benchmark> {
    let cond = vec![
        cond_case(200, 100, false),
        cond_case(100, 1000, false),
        cond_case(200, 100, true),
        cond_case(100, 1000, true),
    ];
    let pp = vec![pp_case(128, 1000, 32768), pp_case(1024, 10, 32768)];
    vec![
        Benchmark { able: CONTESTANTS, ..cond_of_cases(cond) },
        Benchmark { able: CONTESTANTS, ..pp_of_cases(pp) },
    ]
}

/// Of the document's three machines, the one that is like this.
fn column() -> usize {
    match cpus() {
        1 => 0,
        2 | 3 => 1,
        _ => 2,
    }
}

fn seconds(value: f64) -> String {
    with_unit(value, number::Unit::Seconds)
}

fn figures(measured: &Measured, place: Place, ours: Contestant) -> (String, Option<Gain>) {
    let of = |contestant| measured.median(place, contestant, "seconds");
    let text = match (of(THEIRS), of(ours)) {
        (Some(theirs), Some(own)) => format!("{} -> {}", seconds(theirs), seconds(own)),
        _ => "—".to_owned(),
    };
    (text, measured.saving(place, (ours, THEIRS), "seconds"))
}

/// Was it the swarm that the test showed, on the document's machine of four processors?
fn catastrophe(test: &Test) -> bool {
    let (before, after) = test.published[2];
    before > 2.0 * after
}

/// What the document's greatest gains were, where this machine can't show them.
fn on_four(test: &Test) -> Row {
    let (before, after) = test.published[2];
    Row {
        what: format!("{}, 4p", test.name),
        published: format!("{} -> {} (4p)", seconds(before), seconds(after)),
        published_gain: Some(before / after),
        measured: "—".to_owned(),
        gain: None,
        verdict: Verdict::NotMeasured("needs four processors".to_owned()),
    }
}

fn rows(measured: &Measured) -> Vec<Row> {
    let processors = ["1p", "2p", "4p"][column()];
    let mut rows: Vec<Row> = TESTS
        .iter()
        .map(|test| {
            let (before, after) = test.published[column()];
            let place = Place { benchmark: test.benchmark, case: test.case };
            let (here, gain) = figures(measured, place, OURS);
            let published = format!("{} -> {} ({processors})", seconds(before), seconds(after));
            Row::new(
                test.name,
                published,
                Some(before / after),
                here,
                gain,
                "the scheduler of 2003 made a swarm of threads a catastrophe, which today's doesn't; and \
                 glibc's broadcast without the mutex staggers its threads by itself",
            )
        })
        .collect();
    if column() < 2 {
        rows.extend(TESTS.iter().filter(|test| catastrophe(test)).map(on_four));
    }
    // Programs mostly hold the mutex when they broadcast: there the swarm is at its worst.
    for (name, case) in [
        ("cond-perf -k -r 100 -n 200: mutex held", "200, held"),
        ("cond-perf -k -r 1000 -n 100: mutex held", "100, held"),
    ] {
        let place = Place { benchmark: "cond", case };
        let (here, gain) = figures(measured, place, OURS);
        rows.push(Row::new(name, "—", None, here, gain, ""));
    }
    for (name, benchmark, case) in [
        ("crate furwock: cond-perf -r 100 -n 200", "cond", "200, released"),
        ("crate furwock: cond-perf -k -r 100 -n 200", "cond", "200, held"),
        ("crate furwock: pp -n 128 -i 1000", "pp", "128 x 1000"),
    ] {
        let place = Place { benchmark, case };
        let (here, gain) = figures(measured, place, Contestant::Furwock);
        rows.push(Row::new(name, "—", None, here, gain, ""));
    }
    rows
}
