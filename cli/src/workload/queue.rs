//! queue: producers and consumers meet at a bounded queue with two condition variables.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::gate::Gate;
use super::implementation::{Implementation, for_monitors};
use super::locks::{Condvar, Monitor, Monitors};
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::{Figures, figures};
use super::usage::Usage;
use super::watchdog;

struct Plan {
    producers: usize,
    consumers: usize,
    items: u64,
    capacity: usize,
    limit_s: f64,
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

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan {
        producers: parameters.take_count("producers", 2)?,
        consumers: parameters.take_count("consumers", 2)?,
        items: parameters.take_count("items", 100_000)? as u64,
        capacity: parameters.take_count("capacity", 16)?,
        limit_s: parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?,
    };
    let implementation = Implementation::take(&mut parameters)?;
    parameters.finish()?;
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(for_monitors!(implementation, measure(&plan)))
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
    watchdog::start(plan.limit_s, move || {
        figures([("items_taken", watched.taken.load(Relaxed) as f64)])
    });
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
            // Room for all, lest growing it be measured.
            let mut taken = Vec::with_capacity(items as usize);
            gate.pass();
            taken.extend(std::iter::from_fn(|| queue.take()));
            taken
        })
    };
    let producers: Vec<_> = (0..plan.producers).map(spawn_producer).collect();
    let consumers: Vec<_> = (0..plan.consumers).map(spawn_consumer).collect();

    gate.wait_for_all();
    let usage = Usage::now();
    gate.open();
    producers.into_iter().for_each(|thread| thread.join());
    queue.close();
    let taken: Vec<Vec<u64>> = consumers.into_iter().map(|thread| thread.join()).collect();
    let used = usage.since();

    check(taken.concat(), items)?;
    Ok(figures([
        ("seconds", used.wall_s),
        ("items_per_second", items as f64 / used.wall_s),
        ("voluntary_per_op", used.voluntary_switches / items as f64),
        ("involuntary_per_op", used.involuntary_switches / items as f64),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / items as f64),
    ]))
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
