//! mutex: threads take turns at one mutex, with work of a given length inside and outside of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::statistics::jain;

use super::gate::Gate;
use super::histogram::Histogram;
use super::parameters::{BadParameter, Parameters};
use super::pthread::{Mutex, spawn};
use super::report::{Figures, figures};
use super::usage::{Usage, Used};
use super::watchdog;
use super::work::{calibrate, spin};

struct Plan {
    threads: usize,
    critical_loops: u64,
    other_loops: u64,
    seconds: f64,
    /// One in so many lock calls is timed: reading the clock costs more than a free lock does.
    sample: u64,
    limit_s: f64,
}

struct Shared {
    gate: Gate,
    /// Not atomic on purpose: only the mutex keeps it right.
    counter: Mutex<u64>,
    stop: AtomicBool,
    progress: Box<[Progress]>,
}

/// Operations of one thread, for the watchdog; alone on its cache lines.
#[repr(align(128))]
struct Progress(AtomicU64);

struct Tally {
    operations: u64,
    waits: Histogram,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let loops_per_us = parameters.take_amount("loops_per_us", 0.0)?;
    let loops_per_us = if loops_per_us > 0.0 { loops_per_us } else { calibrate() };
    let mut loops = |key| Ok((parameters.take_amount(key, 0.0)? * loops_per_us).round() as u64);
    let (critical_loops, other_loops) = (loops("cs")?, loops("ncs")?);
    let plan = Plan {
        critical_loops,
        other_loops,
        threads: parameters.take_count("threads", 2)?,
        seconds: parameters.take_amount("seconds", 0.5)?,
        sample: parameters.take_count("sample", 1)? as u64,
        limit_s: parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?,
    };
    parameters.finish()?;
    Ok(measure(Arc::new(plan)))
}

fn measure(plan: Arc<Plan>) -> Result<Figures, String> {
    let shared = Arc::new(Shared {
        gate: Gate::new(plan.threads),
        counter: Mutex::new(0),
        stop: AtomicBool::new(false),
        progress: (0..plan.threads).map(|_| Progress(AtomicU64::new(0))).collect(),
    });
    let watched = Arc::clone(&shared);
    watchdog::start(plan.limit_s, move || progress(&watched));
    let spawn_one = |index| {
        let (plan, shared) = (Arc::clone(&plan), Arc::clone(&shared));
        spawn(0, move || operate(&plan, &shared, index))
    };
    let threads: Vec<_> = (0..plan.threads).map(spawn_one).collect();

    shared.gate.wait_for_all();
    let usage = Usage::now();
    shared.gate.open();
    std::thread::sleep(Duration::from_secs_f64(plan.seconds));
    shared.stop.store(true, Relaxed);
    let tallies: Vec<Tally> = threads.into_iter().map(|thread| thread.join()).collect();
    let used = usage.since();

    check(&tallies, *shared.counter.lock())?;
    Ok(summarise(&tallies, &used))
}

/// A thread's life: lock, work, count, unlock, work.
fn operate(plan: &Plan, shared: &Shared, index: usize) -> Tally {
    let mut tally = Tally { operations: 0, waits: Histogram::new() };
    shared.gate.pass();
    while !shared.stop.load(Relaxed) {
        let mut counter = if tally.operations.is_multiple_of(plan.sample) {
            let start = Instant::now();
            let counter = shared.counter.lock();
            tally.waits.record(start.elapsed().as_nanos() as u64);
            counter
        } else {
            shared.counter.lock()
        };
        // Read before the work and written after it: whoever else gets in is lost from the count.
        let seen = *counter;
        spin(plan.critical_loops);
        *counter = seen + 1;
        drop(counter);
        spin(plan.other_loops);
        tally.operations += 1;
        shared.progress[index].0.store(tally.operations, Relaxed);
    }
    tally
}

fn progress(shared: &Shared) -> Figures {
    let operations = || shared.progress.iter().map(|thread| thread.0.load(Relaxed) as f64);
    figures([
        ("operations", operations().sum()),
        ("operations_of_slowest_thread", operations().fold(f64::INFINITY, f64::min)),
    ])
}

fn check(tallies: &[Tally], counter: u64) -> Result<(), String> {
    let sum: u64 = tallies.iter().map(|tally| tally.operations).sum();
    if counter == sum {
        Ok(())
    } else {
        Err(format!("{sum} operations left a count of {counter}: the mutex did not exclude"))
    }
}

fn summarise(tallies: &[Tally], used: &Used) -> Figures {
    let per_thread: Vec<f64> = tallies.iter().map(|tally| tally.operations as f64).collect();
    let operations: f64 = per_thread.iter().sum();
    let mean = operations / per_thread.len() as f64;
    let least = per_thread.iter().copied().fold(f64::INFINITY, f64::min);
    let mut waits = Histogram::new();
    tallies.iter().for_each(|tally| waits.merge(&tally.waits));
    let quantile_s = |quantile| waits.quantile_ns(quantile) as f64 / 1e9;
    figures([
        ("ops_per_second", operations / used.wall_s),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / operations),
        ("voluntary_per_op", used.voluntary_switches / operations),
        ("voluntary_per_1000", used.voluntary_switches * 1000.0 / operations),
        ("involuntary_per_1000", used.involuntary_switches * 1000.0 / operations),
        ("jain", jain(&per_thread)),
        ("min_over_mean", least / mean),
        ("wait_p50_s", quantile_s(0.5)),
        ("wait_p99_s", quantile_s(0.99)),
        ("wait_p999_s", quantile_s(0.999)),
        ("wait_max_s", waits.max_ns() as f64 / 1e9),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_count_that_lost_operations() {
        let tally = |operations| Tally { operations, waits: Histogram::new() };
        assert!(check(&[tally(2), tally(3)], 5).is_ok());
        assert!(check(&[tally(2), tally(3)], 4).is_err());
    }
}
