//! queue: producers and consumers meet at a bounded queue with two condition variables.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;

use super::Workload;
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, PREEMPTIONS_EACH, SWITCHES_EACH};
use crate::contestants::locks::{Condvar, Monitor, Monitors, Mutex, monitors};
use crate::contestants::{Table, choose, names_of};
use crate::harness::watchdog;
use crate::harness::{Failed, Figures, Gate, Parameters, figures, spawn};
use crate::values::{count, pair_of_threads};

/// Producers and consumers at a bounded queue with two condition variables
#[derive(Args)]
pub struct Arguments {
    /// Producers to consumers
    #[arg(short = 't', long, value_name = "P/C,...", value_delimiter = ',')]
    #[arg(value_parser = pair_of_threads, default_value = "1/1,4/4,16/16,1/16,16/1")]
    threads: Vec<(u32, u32)>,

    /// Items that the queue has room for
    #[arg(long, value_name = "N", default_value = "16", value_parser = count)]
    capacity: u32,

    /// Items in a round
    #[arg(long, value_name = "N", default_value = "100000", value_parser = count)]
    items: u32,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let case = |threads: &(u32, u32)| case(*threads, self.capacity, self.items);
        benchmark(self.threads.iter().map(case).collect())
    }
}

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Bounded queue",
        counts_turns: true,
        case_key: "Cases: producers to consumers.",
        what: "Producers put items into a queue that has room for few, consumers take them out; a \
               mutex and two condition variables.",
        figures: vec![
            Figure::rate("items_per_second", "items a second"),
            CPU,
            SWITCHES_EACH,
            PREEMPTIONS_EACH,
            Figure::wait("seconds", "time for all"),
        ],
        cases,
        able: names_of(TABLE),
        lacking: "condition variables",
        ..Benchmark::named("queue")
    }
}

pub fn case((producers, consumers): (u32, u32), capacity: u32, items: u32) -> Case {
    let series = if producers == consumers { "as many of each" } else { "uneven" };
    Case::new(
        format!("{producers} to {consumers}"),
        [
            ("producers", producers.into()),
            ("consumers", consumers.into()),
            ("capacity", capacity.into()),
            ("items", items.into()),
        ],
        Place::new(series, producers + consumers, "threads"),
    )
}

struct Plan {
    producers: usize,
    consumers: usize,
    items: u64,
    capacity: usize,
}

type Measure = fn(&Plan) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &monitors!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan {
        producers: given.count("producers", 2)?,
        consumers: given.count("consumers", 2)?,
        items: given.count("items", 100_000)? as u64,
        capacity: given.count("capacity", 16)?,
    };
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(&plan)?)
}

struct Queue<F: Monitors> {
    state: F::Monitor<State>,
    not_empty: F::Condvar,
    not_full: F::Condvar,
    capacity: usize,
    /// Items taken so far, for the watchdog; written under the mutex.
    taken: AtomicU64,
}

struct State {
    items: VecDeque<u64>,
    closed: bool,
}

impl<F: Monitors> Queue<F> {
    fn put(&self, item: u64) {
        let mut state = self.state.lock();
        while state.items.len() == self.capacity {
            state = F::Monitor::wait(state, &self.not_full);
        }
        state.items.push_back(item);
        self.not_empty.signal();
    }

    /// The next item; none once the queue is closed and empty.
    fn take(&self) -> Option<u64> {
        let mut state = self.state.lock();
        while state.items.is_empty() && !state.closed {
            state = F::Monitor::wait(state, &self.not_empty);
        }
        let item = state.items.pop_front()?;
        self.taken.store(self.taken.load(Relaxed) + 1, Relaxed);
        self.not_full.signal();
        Some(item)
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.not_empty.broadcast();
    }
}

fn measure<F: Monitors>(plan: &Plan) -> Result<Figures, String> {
    let queue = Arc::new(Queue::<F> {
        state: F::Monitor::new(State {
            items: VecDeque::with_capacity(plan.capacity),
            closed: false,
        }),
        not_empty: F::Condvar::new(),
        not_full: F::Condvar::new(),
        capacity: plan.capacity,
        taken: AtomicU64::new(0),
    });
    let watched = Arc::clone(&queue);
    watchdog::report(move || figures([("items_taken", watched.taken.load(Relaxed) as f64)]));
    let gate = Arc::new(Gate::new(plan.producers + plan.consumers));
    let (items, producers) = (plan.items, plan.producers);
    let spawn_producer = |first: usize| {
        let (gate, queue) = (Arc::clone(&gate), Arc::clone(&queue));
        spawn(0, move || {
            gate.pass();
            (first as u64..items).step_by(producers).for_each(|item| queue.put(item));
        })
    };
    let spawn_consumer = |_| {
        let (gate, queue) = (Arc::clone(&gate), Arc::clone(&queue));
        spawn(0, move || {
            // Room for all, so that growing it isn't measured.
            let mut taken = Vec::with_capacity(items as usize);
            gate.pass();
            taken.extend(std::iter::from_fn(|| queue.take()));
            taken
        })
    };
    let producers: Vec<_> = (0..plan.producers).map(spawn_producer).collect();
    let consumers: Vec<_> = (0..plan.consumers).map(spawn_consumer).collect();

    let usage = gate.start();
    producers.into_iter().for_each(|thread| thread.join());
    queue.close();
    let taken: Vec<Vec<u64>> = consumers.into_iter().map(|thread| thread.join()).collect();
    let used = usage.since();

    check(taken.concat(), items)?;
    let mut all = used.per_operation(items as f64);
    all.extend(figures([
        ("seconds", used.wall_s),
        ("items_per_second", items as f64 / used.wall_s),
    ]));
    Ok(all)
}

/// Each of the items 0, 1, ... `items` - 1 was taken, and taken once.
fn check(mut taken: Vec<u64>, items: u64) -> Result<(), String> {
    let (count, sum) = (taken.len() as u64, taken.iter().sum::<u64>());
    let expected_sum = items * (items - 1) / 2;
    if count != items || sum != expected_sum {
        return Err(format!("{count} items of sum {sum} came out, not {items} of {expected_sum}"));
    }
    taken.sort_unstable();
    match taken.iter().zip(0u64..).find(|(item, expected)| **item != *expected) {
        None => Ok(()),
        Some((_, expected)) => Err(format!("item {expected} was lost or taken twice")),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn rejects_lost_and_doubled_items() {
        assert!(check(vec![2, 0, 1, 3], 4).is_ok());
        assert!(check(vec![2, 0, 1], 4).is_err());
        // The right count and sum: 0 and 3 went in, 1 and 2 came out twice.
        assert!(check(vec![1, 1, 2, 2], 4).is_err());
    }
}
