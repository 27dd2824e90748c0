//! Threads that contend for one lock for a given time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::gate::Gate;
use super::padded::Padded;
use super::parameters::{Failed, Parameters};
use super::report::{Figures, figures};
use super::threads::{join_all, spawn_all};
use super::usage::Used;
use super::waits::Waits;
use super::watchdog;
use crate::contestants::Contestant;
use crate::statistics::jain;

pub struct Plan {
    pub contestant: Contestant,
    pub threads: usize,
    /// The work inside the lock, and outside of it.
    pub critical_loops: u64,
    pub other_loops: u64,
    pub seconds: f64,
    /// One lock call in `sample` is timed: reading the clock costs more than a free lock does.
    pub sample: u64,
}

impl Plan {
    /// Takes the parameters that all such workloads have.
    pub fn take(given: &mut Parameters) -> Result<Self, Failed> {
        let [critical_loops, other_loops] = given.loops(["cs", "ncs"])?;
        Ok(Plan {
            contestant: given.contestant()?,
            threads: given.count("threads", 2)?,
            critical_loops,
            other_loops,
            seconds: given.amount("seconds", 0.5)?,
            sample: given.count("sample", 1)? as u64,
        })
    }
}

/// What the threads share: `shared` is the lock, and what else the workload needs.
struct Contest<S> {
    plan: Plan,
    shared: S,
    gate: Gate,
    /// Read by all threads in every turn, and so alone on its cache lines.
    stop: Padded<AtomicBool>,
    /// Operations of each thread, for the watchdog.
    progress: Box<[Padded<AtomicU64>]>,
}

/// A thread of the contest.
pub struct Contender<'a, S> {
    contest: &'a Contest<S>,
    pub index: usize,
}

impl<'a, S> Contender<'a, S> {
    pub fn plan(&self) -> &'a Plan {
        &self.contest.plan
    }

    pub fn shared(&self) -> &'a S {
        &self.contest.shared
    }

    #[inline]
    pub fn goes_on(&self) -> bool {
        !self.contest.stop.0.load(Relaxed)
    }

    /// Publishes how many operations this thread has done so far.
    #[inline]
    pub fn note(&self, operations: u64) {
        self.contest.progress[self.index].0.store(operations, Relaxed);
    }
}

pub struct Outcome<S, Tally> {
    pub shared: S,
    pub tallies: Vec<Tally>,
    pub used: Used,
}

/// Runs `operate` in all threads from the same moment on, until the time is up.
pub fn run<S, Tally>(
    plan: Plan,
    shared: S,
    operate: fn(&Contender<'_, S>) -> Tally,
) -> Outcome<S, Tally>
where
    S: Send + Sync + 'static,
    Tally: Send + 'static,
{
    let Plan { threads, seconds, .. } = plan;
    let contest = Arc::new(Contest {
        plan,
        shared,
        gate: Gate::new(threads),
        stop: Padded(AtomicBool::new(false)),
        progress: (0..threads).map(|_| Padded(AtomicU64::new(0))).collect(),
    });
    // The watchdog's thread never ends, and must not keep the contest alive.
    let watched = Arc::downgrade(&contest);
    watchdog::report(move || {
        watched.upgrade().map_or_else(Figures::new, |contest| progress(&contest.progress))
    });
    let threads = spawn_all(threads, &contest, move |contest, index| {
        contest.gate.pass();
        operate(&Contender { contest, index })
    });

    let usage = contest.gate.start();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    contest.stop.0.store(true, Relaxed);
    let tallies = join_all(threads);
    let used = usage.since();
    Outcome { shared: sole_owner(contest).shared, tallies, used }
}

/// The threads dropped their references before they ended, and the watchdog has one only while it
/// reports.
fn sole_owner<T>(mut shared: Arc<T>) -> T {
    loop {
        match Arc::try_unwrap(shared) {
            Ok(all) => return all,
            Err(still_shared) => shared = still_shared,
        }
        std::thread::yield_now();
    }
}

fn progress(threads: &[Padded<AtomicU64>]) -> Figures {
    let operations = || threads.iter().map(|thread| thread.0.load(Relaxed) as f64);
    figures([
        ("operations", operations().sum()),
        ("operations_of_slowest_thread", operations().fold(f64::INFINITY, f64::min)),
    ])
}

/// The figures of rate, cost and fairness.
pub fn summarise(operations_of_threads: &[u64], used: &Used) -> Figures {
    let per_thread: Vec<f64> = operations_of_threads.iter().map(|count| *count as f64).collect();
    let operations: f64 = per_thread.iter().sum();
    let mean = operations / per_thread.len() as f64;
    let least = per_thread.iter().copied().fold(f64::INFINITY, f64::min);
    let mut all = used.per_operation(operations);
    all.extend(figures([
        ("ops_per_second", operations / used.wall_s),
        ("voluntary_per_1000", used.voluntary_switches * 1000.0 / operations),
        ("involuntary_per_1000", used.involuntary_switches * 1000.0 / operations),
        ("jain", jain(&per_thread)),
        ("min_over_mean", least / mean),
    ]));
    all
}

/// The figures of threads that all do the same, each with its operations and waits.
pub fn summarise_turns<'t>(
    tallies: impl Iterator<Item = (u64, &'t Waits)>,
    used: &Used,
) -> Figures {
    let (mut operations, mut waits) = (Vec::new(), Waits::default());
    for (count, own) in tallies {
        operations.push(count);
        waits.add(own);
    }
    let mut figures = summarise(&operations, used);
    figures.extend(waits.figures(""));
    figures
}
