//! cond, after the cond-perf test of Molnar's requeue patch (2003): many threads wait on one
//! condition variable, a broadcast wakes them all, and each must have the mutex before it can go
//! on. The last signals a second condition variable, on which the main thread waits for the round's
//! end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::{Args, ValueEnum};

use super::{Workload, grid, number};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, PREEMPTIONS_EACH, SWITCHES_EACH};
use crate::contestants::locks::{Condvar, Monitor, Monitors, Mutex, monitors};
use crate::contestants::{Table, choose, names_of};
use crate::harness::watchdog;
use crate::harness::{Failed, Figures, Parameters, Usage, figures, join_all, spawn_all};
use crate::values::{count, threads};

/// cond-perf: a broadcast wakes many threads, each of which must have the mutex
///
/// The test of Molnar's requeue patch (2003), with its options.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads that wait
    #[arg(short = 'n', short_alias = 't', long, value_name = "LIST", value_delimiter = ',')]
    #[arg(value_parser = threads, default_value = "16,100,200,1000")]
    pub threads: Vec<u32>,

    /// Rounds of broadcasts [default: as many as take a fraction of a second]
    #[arg(short = 'r', long = "broadcasts", value_name = "N", value_parser = count)]
    pub broadcasts: Option<u32>,

    /// Whether the mutex is held during the broadcast
    #[arg(short = 'k', long, value_name = "LIST", value_delimiter = ',', default_value = "no,yes")]
    mutex_kept: Vec<Kept>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kept {
    Yes,
    No,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        /// Threads woken in all, by default.
        const WAKES: u32 = 20_000;
        benchmark(grid(&self.mutex_kept, &self.threads, |kept, threads| {
            let rounds = self.broadcasts.unwrap_or((WAKES / threads).max(5));
            case(threads, rounds, kept == Kept::Yes)
        }))
    }
}

pub const ALL: Figure = Figure::time("seconds", "time for all");

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Condition variable: broadcast",
        counts_turns: true,
        case_key: "Cases: threads that wait, and whether the mutex is held during the broadcast.",
        what: "Many threads wait on a condition variable. A broadcast ends the wait of all, and \
               each must have the mutex before it goes on: waking all of them at once makes a \
               thundering herd.",
        figures: vec![
            Figure::time("seconds_per_round", "time from a broadcast until all have had the mutex"),
            ALL,
            CPU,
            SWITCHES_EACH,
            PREEMPTIONS_EACH,
        ],
        cases,
        able: names_of(TABLE),
        lacking: "condition variables",
        ..Benchmark::named("cond")
    }
}

pub fn case(threads: u32, rounds: u32, kept: bool) -> Case {
    let how = if kept { "held" } else { "released" };
    Case::new(
        format!("{threads}, {how}"),
        [("threads", threads.into()), ("rounds", rounds.into()), ("mutex-kept", number(kept))],
        Place::new(format!("mutex {how} during the broadcast"), threads, "threads"),
    )
}

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
    /// there until they wait: once the count is full, all of them wait.
    waiting: usize,
    /// How many threads woke in this very round, and not in a later one.
    in_time: u64,
    stop: bool,
}

type Measure = fn(usize, u64, bool) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &monitors!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let threads = given.count("threads", 200)?;
    let rounds = given.count("rounds", 100)? as u64;
    let mutex_kept = given.flag("mutex-kept")?;
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(threads, rounds, mutex_kept)?)
}

fn measure<F: Monitors>(threads: usize, rounds: u64, mutex_kept: bool) -> Result<Figures, String> {
    let shared = Arc::new(Shared::<F> {
        state: F::Monitor::new(State { round: 0, waiting: 0, in_time: 0, stop: false }),
        next_round: F::Condvar::new(),
        all_wait: F::Condvar::new(),
        threads,
        rounds_done: AtomicU64::new(0),
    });
    let watched = Arc::clone(&shared);
    watchdog::report(move || figures([("rounds_done", watched.rounds_done.load(Relaxed) as f64)]));
    let consumers = spawn_all(threads, &shared, |shared, _| wait_for_rounds(shared));
    wait_for_all(&shared);
    let usage = Usage::now();
    (0..rounds).for_each(|_| play_round(&shared, mutex_kept));
    let used = usage.since();
    stop(&shared);
    let woken = join_all(consumers);

    check(&woken, shared.state.lock().in_time, rounds)?;
    let wakes = (rounds * threads as u64) as f64;
    let mut all = used.per_operation(wakes);
    all.extend(figures([
        ("seconds", used.wall_s),
        ("seconds_per_round", used.wall_s / rounds as f64),
    ]));
    Ok(all)
}

/// If the broadcast is sent before the mutex is released, the woken threads may run into the mutex.
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

/// One consumer; returns how often it was woken for a round.
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
