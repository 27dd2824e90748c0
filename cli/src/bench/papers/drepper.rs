//! Drepper 2008: 64-bit futexes, and a rwlock whose whole state is one word.

use super::row::{Comparison, Measured, Row, percent_less};
use super::{Author, Paper};
use crate::bench::benchmark::{Benchmark, Case};
use crate::bench::figure::OPERATIONS;
use crate::bench::sections::Sections;
use crate::contestants::Contestant;
use crate::measuring::machine::cpus;
use crate::measuring::number::compact;
use crate::workloads::rwlock;

pub const PAPER: Paper = Paper {
    author: Author::Drepper,
    year: 2008,
    title: "a rwlock in one 64-bit word",
    source: "Ulrich Drepper, \"64-bit futexes: Intro\", 30 May 2008; one socket of four cores",
    text: &[
        "A rwlock's state doesn't fit into 32 bits. The rwlocks of the time kept it in several \
         words, behind an internal lock; a futex of 64 bits lets one word have all of it.",
        "The paper's table has times for 1 to 16 threads whose sections are trivial. Here it is \
         the time an operation, 1 % of them writes, with no work inside. Old is a rwlock of the \
         old kind on the kernel's futex: an internal lock, the state in words behind it; new is \
         the crate's. The rows below them have unmodified pthread calls, on today's glibc, whose \
         rwlock isn't the one of 2008 any more, and on furwock's library.",
    ],
    benchmarks,
    rows,
};

/// The paper's raw numbers, old and new, for 1 to 16 threads. (Its row for 5 threads has a
/// misplaced comma.)
const PUBLISHED: [(f64, f64); 16] = [
    (4_991_633_560.0, 3_986_898_840.0),
    (14_187_564_600.0, 5_080_538_220.0),
    (20_727_416_260.0, 5_291_971_820.0),
    (23_079_608_650.0, 6_652_036_830.0),
    (23_176_632_860.0, 6_570_373_500.0),
    (21_913_357_010.0, 6_591_716_100.0),
    (22_975_750_700.0, 6_597_761_790.0),
    (22_349_919_860.0, 6_632_005_730.0),
    (24_784_438_890.0, 6_599_062_590.0),
    (24_899_243_380.0, 6_493_066_340.0),
    (25_358_788_130.0, 6_735_662_240.0),
    (19_955_548_890.0, 6_591_059_500.0),
    (24_058_349_440.0, 6_709_288_100.0),
    (26_002_901_340.0, 6_741_505_130.0),
    (19_790_724_570.0, 6_720_973_690.0),
    (26_639_730_750.0, 6_558_662_430.0),
];

fn case(threads: u32) -> Case {
    const WRITES: f64 = 1.0;
    rwlock::case(WRITES, Sections::new(0.0, 0.0), threads)
}

fn benchmarks() -> Vec<Benchmark> {
    use Contestant::{Furwock, FurwockPreload, Glibc, Kernel};
    vec![Benchmark {
        title: "Reader-writer lock, 1 % writes of nothing",
        able: vec![Furwock, FurwockPreload, Glibc, Kernel],
        ..rwlock::benchmark((1..=16).map(case).collect())
    }]
}

fn rows(measured: &Measured) -> Vec<Row> {
    let old_and_new = PUBLISHED.iter().zip(1u32..).map(|((old, new), threads)| {
        let less = percent_less(*old, *new);
        let published = format!("{} -> {} ({less})", compact(*old), compact(*new));
        let pair = (Contestant::Furwock, Contestant::Kernel);
        row(measured, threads, "rwlock", pair, &published, Some(old / new))
    });
    let today = [1, 2, 4, 8, 16].map(|threads| {
        let pair = (Contestant::FurwockPreload, Contestant::Glibc);
        row(measured, threads, "preload over today's glibc", pair, "—", None)
    });
    old_and_new.chain(today).collect()
}

fn row(
    measured: &Measured,
    threads: u32,
    what: &str,
    (ours, theirs): (Contestant, Contestant),
    published: &str,
    published_gain: Option<f64>,
) -> Row {
    let case = case(threads).name;
    let at = Comparison { benchmark: "rwlock", case: &case, ours, theirs, figure: OPERATIONS };
    let here = measured.here(at, |theirs, ours| {
        let (old, new) = (1e9 / theirs, 1e9 / ours);
        format!("{old:.1} ns -> {new:.1} ns ({})", percent_less(old, new))
    });
    let what = format!("{what}, {threads} thread{}", if threads == 1 { "" } else { "s" });
    let short = format!(
        "threads contend for the old kind's internal lock only as far as there are processors: the \
         paper's machine had four, this one {}",
        cpus()
    );
    Row::new(what, published, published_gain, here, measured.gain(at), &short)
}
