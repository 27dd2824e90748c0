//! Long 2017: throughput-optimized futexes.

use super::row::{Comparison, Measured, Row};
use super::{Author, Paper};
use crate::bench::benchmark::{Benchmark, Case};
use crate::bench::figure::OPERATIONS;
use crate::bench::sections::Sections;
use crate::contestants::Contestant;
use crate::measuring::machine::cpus;
use crate::measuring::number::compact;
use crate::statistics::{Gain, geometric_mean};
use crate::workloads::{mutex, rwlock};

pub const PAPER: Paper = Paper {
    author: Author::Long,
    year: 2017,
    title: "throughput-optimized locks",
    source: "Waiman Long, \"futex: Introducing throughput-optimized (TP) futexes\", v6, 22 March \
             2017; two sockets of x86-64",
    text: &[
        "Locks that let a running thread steal, keep one spinner, and hand over to a waiter after \
         5 ms; compared with locks on the plain wait-wake (WW) futex and with glibc's.",
        "The paper gives average locking rates, but not the loads. Here they are geometric means \
         over sections of 0, 1 and 10 us inside and as much outside of the lock, by as many \
         threads as CPUs and eight times as many; for the rwlock of 0 and 2 us, with 10 and 50 % \
         writes. WW futex is a textbook mutex on the kernel's futex, and the rwlock with an \
         internal lock that glibc had then.",
        "The published gain is TP's over each; furwock takes TP's place.",
    ],
    benchmarks,
    rows,
};

fn mutex_cases() -> Vec<Case> {
    let of = |us| [cpus(), 8 * cpus()].map(|threads| mutex::case(Sections::new(us, us), threads));
    [0.0, 1.0, 10.0].into_iter().flat_map(of).collect()
}

fn rwlock_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for writes in [10.0, 50.0] {
        for inside in [0.0, 2.0] {
            let of = |threads| rwlock::case(writes, Sections::new(inside, 0.0), threads);
            cases.extend([cpus(), 8 * cpus()].map(of));
        }
    }
    cases
}

fn benchmarks() -> Vec<Benchmark> {
    use Contestant::{Furwock, FurwockPreload, Glibc, Kernel};
    let able = vec![Furwock, FurwockPreload, Glibc, Kernel];
    vec![
        Benchmark { able: able.clone(), ..mutex::benchmark(mutex_cases()) },
        Benchmark { name: "rwlock-mixed", able, ..rwlock::benchmark(rwlock_cases()) },
    ]
}

/// None unless all were measured.
fn mean(rates: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let rates: Vec<f64> = rates.collect::<Option<_>>()?;
    (!rates.is_empty()).then(|| geometric_mean(&rates))
}

fn row(
    measured: &Measured,
    what: &str,
    (benchmark, cases): (&str, &[Case]),
    (ours, theirs): (Contestant, Contestant),
    (published_ours, published_theirs): (f64, f64),
) -> Row {
    let comparisons: Vec<Comparison> = cases
        .iter()
        .map(|case| Comparison { benchmark, case: &case.name, ours, theirs, figure: OPERATIONS })
        .collect();
    let medians = || comparisons.iter().map(|at| measured.medians(*at));
    let rates = |theirs, ours| format!("{}/s -> {}/s", compact(theirs), compact(ours));
    let theirs_mean = mean(medians().map(|both| Some(both?.0)));
    let ours_mean = mean(medians().map(|both| Some(both?.1)));
    let means = theirs_mean.zip(ours_mean);
    let here = means.map_or_else(|| "—".to_owned(), |(theirs, ours)| rates(theirs, ours));
    // The mean over all cases of each round: these differ, or don't.
    let of_rounds = |contestant| -> Vec<f64> {
        let rates: Vec<_> = comparisons.iter().map(|at| measured.values(*at, contestant)).collect();
        let rounds = rates.iter().map(Vec::len).min().unwrap_or(0);
        (0..rounds).filter_map(|round| mean(rates.iter().map(|of| Some(of[round])))).collect()
    };
    let gain = means.map(|(theirs_mean, ours_mean)| {
        Gain::of_rounds(&of_rounds(ours), &of_rounds(theirs)).about(ours_mean / theirs_mean)
    });
    Row::new(
        what,
        rates(published_theirs, published_ours),
        Some(published_ours / published_theirs),
        here,
        gain.map(Into::into),
        &format!(
            "glibc's rwlock of 2017 had an internal lock, that of 2.25 and later has not; and the \
             paper's machine had two sockets, this one {} CPUs",
            cpus()
        ),
    )
}

fn rows(measured: &Measured) -> Vec<Row> {
    let (mutexes, rwlocks) = (mutex_cases(), rwlock_cases());
    let mutexes = ("mutex", &mutexes[..]);
    let rwlocks = ("rwlock-mixed", &rwlocks[..]);
    use Contestant::{Furwock, FurwockPreload, Glibc, Kernel};
    let row = |what, cases, pair, published| row(measured, what, cases, pair, published);
    let (mutex_ww, mutex_glibc) = ((158_897.0, 136_291.0), (158_897.0, 110_186.0));
    let (rwlock_ww, rwlock_glibc) = ((138_280.0, 86_004.0), (138_280.0, 41_267.0));
    vec![
        row("mutex over WW futex", mutexes, (Furwock, Kernel), mutex_ww),
        row("mutex over glibc", mutexes, (Furwock, Glibc), mutex_glibc),
        row("mutex over glibc, preload", mutexes, (FurwockPreload, Glibc), mutex_glibc),
        row("rwlock over WW futex", rwlocks, (Furwock, Kernel), rwlock_ww),
        row("rwlock over glibc", rwlocks, (Furwock, Glibc), rwlock_glibc),
        row("rwlock over glibc, preload", rwlocks, (FurwockPreload, Glibc), rwlock_glibc),
    ]
}
