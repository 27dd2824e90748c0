//! What workloads have in common in which threads contend for one lock for a given time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::gate::Gate;
use super::histogram::Histogram;
use super::implementation::Implementation;
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::{Figures, figures};
use super::usage::{Usage, Used};
use super::watchdog;
use super::work::calibrate;
use crate::statistics::jain;

pub struct Plan {
    pub implementation: Implementation,
    pub threads: usize,
    /// The work inside the lock, and outside of it.
    pub critical_loops: u64,
    pub other_loops: u64,
    pub seconds: f64,
    /// One in so many lock calls is timed: reading the clock costs more than a free lock does.
    pub sample: u64,
    limit_s: f64,
}

impl AsRef<Plan> for Plan {
    fn as_ref(&self) -> &Plan {
        self
    }
}

impl Plan {
    /// Takes the parameters that all such workloads have.
    pub fn take(parameters: &mut Parameters) -> Result<Self, BadParameter> {
        let implementation = Implementation::take(parameters)?;
        let loops_per_us = parameters.take_amount("loops_per_us", 0.0)?;
        let loops_per_us = if loops_per_us > 0.0 { loops_per_us } else { calibrate() };
        let mut loops = |key| Ok((parameters.take_amount(key, 0.0)? * loops_per_us).round() as u64);
        let (critical_loops, other_loops) = (loops("cs")?, loops("ncs")?);
        Ok(Plan {
            implementation,
            threads: parameters.take_count("threads", 2)?,
            critical_loops,
            other_loops,
            seconds: parameters.take_amount("seconds", 0.5)?,
            sample: parameters.take_count("sample", 1)? as u64,
            limit_s: parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?,
        })
    }
}

/// What the threads share.
pub struct Contest<P, L> {
    pub plan: P,
    pub lock: L,
    gate: Gate,
    stop: Stop,
    progress: Box<[Progress]>,
}

/// Read by all in every turn, and so alone on its cache lines.
#[repr(align(128))]
struct Stop(AtomicBool);

/// Operations of one thread, for the watchdog; alone on its cache lines.
#[repr(align(128))]
struct Progress(AtomicU64);

/// A thread's place in the contest.
pub struct Seat<'a, P, L> {
    contest: &'a Contest<P, L>,
    pub index: usize,
}

impl<'a, P, L> Seat<'a, P, L> {
    pub fn plan(&self) -> &'a P {
        &self.contest.plan
    }

    pub fn lock(&self) -> &'a L {
        &self.contest.lock
    }

    #[inline]
    pub fn goes_on(&self) -> bool {
        !self.contest.stop.0.load(Relaxed)
    }

    /// Says how many operations this thread has done.
    #[inline]
    pub fn note(&self, operations: u64) {
        self.contest.progress[self.index].0.store(operations, Relaxed);
    }
}

pub struct Outcome<L, Tally> {
    pub lock: L,
    pub tallies: Vec<Tally>,
    pub used: Used,
}

/// Runs `operate` in all threads from the same moment on, until the time is up.
pub fn run<P, L, Tally>(
    plan: P,
    lock: L,
    operate: fn(&Seat<'_, P, L>) -> Tally,
) -> Outcome<L, Tally>
where
    P: AsRef<Plan> + Send + Sync + 'static,
    L: Send + Sync + 'static,
    Tally: Send + 'static,
{
    let &Plan { threads, seconds, limit_s, .. } = plan.as_ref();
    let contest = Arc::new(Contest {
        plan,
        lock,
        gate: Gate::new(threads),
        stop: Stop(AtomicBool::new(false)),
        progress: (0..threads).map(|_| Progress(AtomicU64::new(0))).collect(),
    });
    // The watchdog's thread never ends, and must not keep the contest alive.
    let watched = Arc::downgrade(&contest);
    watchdog::start(limit_s, move || {
        watched.upgrade().map_or_else(Figures::new, |contest| progress(&contest.progress))
    });
    let spawn_one = |index| {
        let contest = Arc::clone(&contest);
        spawn(0, move || {
            let seat = Seat { contest: &contest, index };
            contest.gate.pass();
            operate(&seat)
        })
    };
    let threads: Vec<_> = (0..threads).map(spawn_one).collect();

    contest.gate.wait_for_all();
    let usage = Usage::now();
    contest.gate.open();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    contest.stop.0.store(true, Relaxed);
    let tallies = threads.into_iter().map(|thread| thread.join()).collect();
    let used = usage.since();
    Outcome { lock: sole_owner(contest).lock, tallies, used }
}

/// The threads have dropped their shares before they ended, and the watchdog has one only for as
/// long as it takes to report.
fn sole_owner<T>(mut shared: Arc<T>) -> T {
    loop {
        match Arc::try_unwrap(shared) {
            Ok(all) => return all,
            Err(still_shared) => shared = still_shared,
        }
        std::thread::yield_now();
    }
}

fn progress(threads: &[Progress]) -> Figures {
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
    figures([
        ("ops_per_second", operations / used.wall_s),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / operations),
        ("voluntary_per_op", used.voluntary_switches / operations),
        ("voluntary_per_1000", used.voluntary_switches * 1000.0 / operations),
        ("involuntary_per_1000", used.involuntary_switches * 1000.0 / operations),
        ("jain", jain(&per_thread)),
        ("min_over_mean", least / mean),
    ])
}

/// The figures of threads that all do the same, each with its operations and waits.
pub fn summarise_turns<'t>(
    tallies: impl Iterator<Item = (u64, &'t Histogram)>,
    used: &Used,
) -> Figures {
    let (mut operations, mut waits) = (Vec::new(), Histogram::new());
    for (count, own) in tallies {
        operations.push(count);
        waits.merge(own);
    }
    let mut figures = summarise(&operations, used);
    figures.extend(summarise_waits("", &waits));
    figures
}

/// The figures of how long lock calls waited; their names begin with `prefix`.
pub fn summarise_waits(prefix: &str, waits: &Histogram) -> Figures {
    let quantile_s = |quantile| waits.quantile_ns(quantile) as f64 / 1e9;
    let named = [
        ("wait_p50_s", quantile_s(0.5)),
        ("wait_p99_s", quantile_s(0.99)),
        ("wait_p999_s", quantile_s(0.999)),
        ("wait_max_s", waits.max_ns() as f64 / 1e9),
    ];
    named.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)).collect()
}
