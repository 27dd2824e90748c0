//! A forked child finds lock words that speak of its parent's threads (M-4).

use super::condvar::{broadcast, signal, waiters_pass_in_child};
use super::explore;
use crate::lock::RawMutex;
use crate::sys::fork::pretend;
use loom::thread;
use std::sync::Arc;

fn in_child(preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    pretend::CHILD.set(true);
    explore(preemptions, scenario);
    pretend::CHILD.set(false);
}

#[test]
fn a_spinner_that_does_not_exist_keeps_no_thread_from_the_mutex() {
    in_child(3, || {
        let mutex = Arc::new(RawMutex::with_stale_spinner());
        let others: Vec<_> = (0..2)
            .map(|_| {
                let mutex = Arc::clone(&mutex);
                thread::spawn(move || {
                    mutex.lock();
                    mutex.unlock();
                })
            })
            .collect();
        mutex.lock();
        mutex.unlock();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn nor_from_a_condvar() {
    for held in [false, true] {
        in_child(2, move || waiters_pass_in_child(2, broadcast, held));
        in_child(2, move || waiters_pass_in_child(1, signal, held));
    }
}
