//! 2. Throughput-optimized futexes, 2017.

use super::super::benchmark::{Benchmark, Case};
use super::super::contestant::Contestant;
use super::super::sections::Sections;
use super::super::workloads::words::cpus;
use super::super::workloads::{mutex, rwlock};
use super::row::{Document, Gain, Measured, Place, Row};
use crate::measuring::number::compact;
use crate::statistics::{differ, geometric_mean};

pub const DOCUMENT: Document = Document {
    number: 2,
    year: 2017,
    title: "Throughput-optimized locks",
    source: "Waiman Long, \"futex: Introducing throughput-optimized (TP) futexes\", v6, 22 March 2017; two \
             sockets of x86-64",
    text: &[
        "Locks that let a running thread steal, keep one spinner, and hand over to whoever has waited for 5 \
         ms; compared with locks on the plain wait-wake (WW) futex and with glibc's.",
        "The document gives average locking rates, but not over which loads. Here they are geometric means over \
         sections of 0, 1 and 10 us inside and as much outside of the lock, by as many threads as CPUs and \
         eight times as many; for the rwlock of 0 and 2 us, with 10 and 50 % writes. WW futex is the \
         textbook's mutex on the kernel's futex, and the rwlock with an internal lock that glibc had then.",
        "The published gain is TP's over each; furwock stands in TP's place.",
    ],
    benchmarks,
    rows,
};

const CONTESTANTS: &[Contestant] =
    &[Contestant::Furwock, Contestant::FurwockPreload, Contestant::Glibc, Contestant::Kernel];

fn mutex_cases() -> Vec<Case> {
    let sections = [Sections::new(0.0, 0.0), Sections::new(1.0, 1.0), Sections::new(10.0, 10.0)];
    let of = |sections| [cpus(), 8 * cpus()].map(|threads| mutex::case(sections, threads));
    sections.into_iter().flat_map(of).collect()
}

fn rwlock_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for writes in [10.0, 50.0] {
        for inside in [0.0, 2.0] {
            let sections = Sections::new(inside, 0.0);
            let of = |threads| rwlock::case(writes, sections, threads);
            cases.extend([cpus(), 8 * cpus()].map(of));
        }
    }
    cases
}

fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark { able: CONTESTANTS, ..mutex::of_cases(mutex_cases()) },
        Benchmark { name: "rwlock-mixed", able: CONTESTANTS, ..rwlock::of_cases(rwlock_cases()) },
    ]
}

const RATE: &str = "ops_per_second";

/// The geometric mean over all cases, of one's rate, or of one over another's.
fn mean(rates: Vec<Option<f64>>) -> Option<f64> {
    let rates: Vec<f64> = rates.into_iter().collect::<Option<_>>()?;
    (!rates.is_empty()).then(|| geometric_mean(&rates))
}

fn row(
    measured: &Measured,
    what: &str,
    (benchmark, cases): (&str, &[Case]),
    (ours, theirs): (Contestant, Contestant),
    (published_ours, published_theirs): (f64, f64),
) -> Row {
    let rate = |contestant| {
        mean(
            cases
                .iter()
                .map(|case| {
                    measured.median(Place { benchmark, case: &case.name }, contestant, RATE)
                })
                .collect(),
        )
    };
    // Of each round the mean over all cases; these are what differs, or doesn't.
    let of_rounds = |contestant| -> Vec<f64> {
        let rates: Vec<Vec<f64>> = cases
            .iter()
            .map(|case| measured.values(Place { benchmark, case: &case.name }, contestant, RATE))
            .collect();
        let rounds = rates.iter().map(Vec::len).min().unwrap_or(0);
        let of_round = |round| mean(rates.iter().map(|rates| Some(rates[round])).collect());
        (0..rounds).filter_map(of_round).collect()
    };
    let differs = differ(&of_rounds(ours), &of_rounds(theirs));
    let ups = cases
        .iter()
        .map(|case| measured.speed_up(Place { benchmark, case: &case.name }, (ours, theirs), RATE));
    let gain = mean(ups.map(|up| up.map(|up| up.gain)).collect());
    let here = match (rate(theirs), rate(ours)) {
        (Some(theirs), Some(ours)) => format!("{}/s -> {}/s", compact(theirs), compact(ours)),
        _ => "—".to_owned(),
    };
    Row::new(
        what,
        format!("{}/s -> {}/s", compact(published_theirs), compact(published_ours)),
        Some(published_ours / published_theirs),
        here,
        gain.map(|gain| Gain { gain, differs }),
        &format!(
            "glibc's rwlock of 2017 had an internal lock, that of 2.25 and later has not; and the document's \
             machine had two sockets, this one {} CPUs",
            cpus()
        ),
    )
}

fn rows(measured: &Measured) -> Vec<Row> {
    let (mutexes, rwlocks) = (mutex_cases(), rwlock_cases());
    let mutexes = ("mutex", &mutexes[..]);
    let rwlocks = ("rwlock-mixed", &rwlocks[..]);
    let [crate_, preload] = [Contestant::Furwock, Contestant::FurwockPreload];
    let [kernel, glibc] = [Contestant::Kernel, Contestant::Glibc];
    let row = |what, cases, pair, published| row(measured, what, cases, pair, published);
    let (mutex_ww, mutex_glibc) = ((158_897.0, 136_291.0), (158_897.0, 110_186.0));
    let (rwlock_ww, rwlock_glibc) = ((138_280.0, 86_004.0), (138_280.0, 41_267.0));
    vec![
        row("mutex over WW futex", mutexes, (crate_, kernel), mutex_ww),
        row("mutex over glibc", mutexes, (crate_, glibc), mutex_glibc),
        row("mutex over glibc, preload", mutexes, (preload, glibc), mutex_glibc),
        row("rwlock over WW futex", rwlocks, (crate_, kernel), rwlock_ww),
        row("rwlock over glibc", rwlocks, (crate_, glibc), rwlock_glibc),
        row("rwlock over glibc, preload", rwlocks, (preload, glibc), rwlock_glibc),
    ]
}
