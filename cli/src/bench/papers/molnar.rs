//! Molnar 2003: requeueing.

use super::row::{Comparison, Measured, Row, Verdict};
use super::{Author, Paper};
use crate::bench::benchmark::Benchmark;
use crate::contestants::Contestant;
use crate::measuring::machine::cpus;
use crate::workloads::{cond, pp};

pub const PAPER: Paper = Paper {
    author: Author::Molnar,
    year: 2003,
    title: "requeueing, a broadcast without a thundering herd",
    source: "Ingo Molnar, \"futex requeueing feature\", 19 May 2003; measured by Saurabh Desai on \
             four Pentium III of 700 MHz",
    text: &[
        "Many threads wait at a condition variable, and each must have the mutex once it is woken. \
         A broadcast that wakes them all makes a herd of threads that run into the mutex and sleep \
         again. Requeueing wakes one, and moves the others to the mutex's queue.",
        "The tests are the paper's, cond-perf and pp, with its options; seconds for the whole run. \
         Measured are unmodified pthread calls, on this system's glibc (which has had no \
         requeueing since 2.25) and on furwock's library. The published column is that of the \
         machine with as many processors as this one, or of the nearest.",
    ],
    benchmarks,
    rows,
};

/// A test of the paper: its options, and its seconds before and after, on 1, 2 and 4 processors.
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
    use Contestant::{Furwock, FurwockPreload, Glibc, ParkingLot, Std};
    let able = vec![Furwock, FurwockPreload, Glibc, Std, ParkingLot];
    let cond = [(200, 100, false), (100, 1000, false), (200, 100, true), (100, 1000, true)];
    let cond = cond.map(|(threads, rounds, kept)| cond::case(threads, rounds, kept));
    let pp = [pp::case(128, 1000, 32768), pp::case(1024, 10, 32768)];
    vec![
        Benchmark { able: able.clone(), ..cond::benchmark(cond.into()) },
        Benchmark { able, ..pp::benchmark(pp.into()) },
    ]
}

/// Which of the paper's three machines is nearest to this.
fn column() -> usize {
    match cpus() {
        1 => 0,
        2 | 3 => 1,
        _ => 2,
    }
}

fn seconds((before, after): (f64, f64)) -> String {
    format!("{} -> {}", cond::ALL.text(before), cond::ALL.text(after))
}

/// Did the paper's machine of four processors show the herd in this test?
fn has_herd(test: &Test) -> bool {
    let (before, after) = test.published[2];
    before > 2.0 * after
}

/// The paper's greatest gains, where this machine can't show them.
fn on_four(test: &Test) -> Row {
    let (before, after) = test.published[2];
    Row {
        what: format!("{}, 4p", test.name),
        published: format!("{} (4p)", seconds((before, after))),
        published_gain: Some(before / after),
        measured: "—".to_owned(),
        gain: None,
        verdict: Verdict::NotMeasured("needs four processors".to_owned()),
    }
}

fn rows(measured: &Measured) -> Vec<Row> {
    const SHORT: &str = "the scheduler of 2003 made a thundering herd a catastrophe, which today's \
                         doesn't; and glibc's broadcast without the mutex staggers its threads by \
                         itself";
    let processors = ["1p", "2p", "4p"][column()];
    let at = |benchmark, case, ours| {
        let (theirs, figure) = (Contestant::Glibc, cond::ALL);
        Comparison { benchmark, case, ours, theirs, figure }
    };
    let of_test = |test: &Test| {
        let (before, after) = test.published[column()];
        let published = format!("{} ({processors})", seconds((before, after)));
        let at = at(test.benchmark, test.case, Contestant::FurwockPreload);
        measured.row(test.name, published, Some(before / after), at, SHORT)
    };
    let mut rows: Vec<Row> = TESTS.iter().map(of_test).collect();
    if column() < 2 {
        rows.extend(TESTS.iter().filter(|test| has_herd(test)).map(on_four));
    }
    // Programs mostly hold the mutex when they broadcast: there the herd is at its worst.
    use Contestant::{Furwock, FurwockPreload};
    for (name, benchmark, case, ours) in [
        ("cond-perf -k -r 100 -n 200: mutex held", "cond", "200, held", FurwockPreload),
        ("cond-perf -k -r 1000 -n 100: mutex held", "cond", "100, held", FurwockPreload),
        ("crate furwock: cond-perf -r 100 -n 200", "cond", "200, released", Furwock),
        ("crate furwock: cond-perf -k -r 100 -n 200", "cond", "200, held", Furwock),
        ("crate furwock: pp -n 128 -i 1000", "pp", "128 x 1000", Furwock),
    ] {
        rows.push(measured.row(name, "—", None, at(benchmark, case, ours), ""));
    }
    rows
}
