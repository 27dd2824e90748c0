//! cond-perf, after the test of the 2003 requeue patch: many threads wait on one condition
//! variable, a broadcast wakes them all, and each must have the mutex before it can go on. The
//! last tells the main thread, by a second condition variable, and the next round begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::implementation::{Implementation, for_monitors};
use super::locks::{Condvar, Monitor, Monitors};
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::{Figures, figures};
use super::usage::Usage;
use super::watchdog;

struct Shared<F: Monitors> {
    state: F::Monitor<State>,
    next_round: F::Condvar,
    all_wait: F::Condvar,
    threads: usize,
    /// For the watchdog only.
    rounds_done: AtomicU64,
}

struct State {
    round: u64,
    /// Threads that have counted themselves since the last broadcast. They keep the mutex from
    /// there until they wait, so whoever sees the full count finds all of them waiting.
    waiting: usize,
    /// How many threads woke in this very round, and not in a later one.
    in_time: u64,
    stop: bool,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let threads = parameters.take_count("threads", 200)?;
    let rounds = parameters.take_count("rounds", 100)? as u64;
    let mutex_kept = parameters.take("mutex-kept", 0u8)? != 0;
    let limit_s = parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?;
    let implementation = Implementation::take(&mut parameters)?;
    parameters.finish()?;
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(for_monitors!(implementation, measure(threads, rounds, mutex_kept, limit_s)))
}

fn measure<F: Monitors>(
    threads: usize,
    rounds: u64,
    mutex_kept: bool,
    limit_s: f64,
) -> Result<Figures, String> {
    let shared = Arc::new(Shared::<F> {
        state: F::Monitor::new(State { round: 0, waiting: 0, in_time: 0, stop: false }),
        next_round: F::Condvar::new(),
        all_wait: F::Condvar::new(),
        threads,
        rounds_done: AtomicU64::new(0),
    });
    let watched = Arc::clone(&shared);
    watchdog::start(limit_s, move || {
        figures([("rounds_done", watched.rounds_done.load(Relaxed) as f64)])
    });
    let spawn_one = |_| {
        let shared = Arc::clone(&shared);
        spawn(0, move || wait_for_rounds(&shared))
    };
    let consumers: Vec<_> = (0..threads).map(spawn_one).collect();
    wait_for_all(&shared);
    let usage = Usage::now();
    (0..rounds).for_each(|_| play_round(&shared, mutex_kept));
    let used = usage.since();
    stop(&shared);
    let woken: Vec<u64> = consumers.into_iter().map(|thread| thread.join()).collect();

    check(&woken, shared.state.lock().in_time, rounds)?;
    let wakes = (rounds * threads as u64) as f64;
    Ok(figures([
        ("seconds", used.wall_s),
        ("seconds_per_round", used.wall_s / rounds as f64),
        ("voluntary_per_op", used.voluntary_switches / wakes),
        ("involuntary_per_op", used.involuntary_switches / wakes),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / wakes),
    ]))
}

/// Whether the broadcast is sent before or after the mutex is released makes a great difference
/// where the woken threads run into the mutex.
fn play_round<F: Monitors>(shared: &Shared<F>, mutex_kept: bool) {
    let mut state = shared.state.lock();
    state.waiting = 0;
    state.round += 1;
    if mutex_kept {
        shared.next_round.broadcast();
        drop(state);
    } else {
        drop(state);
        shared.next_round.broadcast();
    }
    wait_for_all(shared);
    shared.rounds_done.fetch_add(1, Relaxed);
}

fn wait_for_all<F: Monitors>(shared: &Shared<F>) {
    let mut state = shared.state.lock();
    while state.waiting < shared.threads {
        state = F::Monitor::wait(state, &shared.all_wait);
    }
}

fn stop<F: Monitors>(shared: &Shared<F>) {
    shared.state.lock().stop = true;
    shared.next_round.broadcast();
}

/// A consumer's life; returns how often it was woken for a round.
fn wait_for_rounds<F: Monitors>(shared: &Shared<F>) -> u64 {
    let mut woken = 0;
    let mut state = shared.state.lock();
    loop {
        let seen = state.round;
        state.waiting += 1;
        if state.waiting == shared.threads {
            shared.all_wait.signal();
        }
        while state.round == seen && !state.stop {
            state = F::Monitor::wait(state, &shared.next_round);
        }
        if state.stop {
            return woken;
        }
        woken += 1;
        state.in_time += u64::from(state.round == seen + 1);
    }
}

fn check(woken: &[u64], in_time: u64, rounds: u64) -> Result<(), String> {
    if let Some(count) = woken.iter().find(|count| **count != rounds) {
        return Err(format!("a thread woke {count} times in {rounds} rounds"));
    }
    let expected = rounds * woken.len() as u64;
    if in_time != expected {
        return Err(format!("{in_time} of {expected} wakes came in their own round"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn rejects_missed_and_late_wakes() {
        assert!(check(&[3, 3], 6, 3).is_ok());
        assert!(check(&[3, 2], 5, 3).is_err());
        assert!(check(&[3, 3], 5, 3).is_err());
    }
}
