//! What shuttle checks: random schedules of scenarios that are too large for loom. Sequentially
//! consistent, so no evidence on orderings. A failure prints the schedule that repeats it.
//!
//! Run with `RUSTFLAGS="--cfg shuttle" cargo test --release -p furwock --lib random_schedules`.

use crate::lock::{RawCondvar, RawMutex};
use crate::prim::CheckedCell;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::{Clock, Deadline};
use shuttle::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const SCHEDULES: usize = 1500;

fn explore(scenario: fn()) {
    shuttle::check_random(scenario, SCHEDULES);
    shuttle::check_pct(scenario, SCHEDULES, 3);
}

fn passed() -> Deadline {
    Deadline::at(Clock::Monotonic, 0, 0).unwrap()
}

fn in_threads(count: usize, work: impl Fn(usize) + Send + Sync + 'static) {
    let work = Arc::new(work);
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let work = Arc::clone(&work);
            thread::spawn(move || work(number))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Six threads, two of them impatient, count under one mutex.
fn crowded_mutex() {
    let shared = Arc::new((RawMutex::new(), CheckedCell::new(0), AtomicU32::new(0)));
    let own = Arc::clone(&shared);
    in_threads(6, move |number| {
        for _ in 0..3 {
            if number < 2 {
                if !own.0.lock_until(&passed()) {
                    continue;
                }
            } else {
                own.0.lock();
            }
            // SAFETY: under the mutex.
            unsafe { own.1.set(own.1.get() + 1) };
            own.0.unlock();
            own.2.fetch_add(1, Ordering::Relaxed);
        }
    });
    // SAFETY: all threads have ended.
    assert_eq!(unsafe { shared.1.get() }, shared.2.load(Ordering::Relaxed));
}

/// Five waiters pass a gate that a broadcast opens; three more impatient ones come and go.
fn crowded_condvar() {
    let shared = Arc::new((RawMutex::new(), RawCondvar::new(), CheckedCell::new(false)));
    in_threads(9, move |number| {
        let (mutex, condvar, open) = &*shared;
        mutex.lock();
        match number {
            0 => {
                // SAFETY: under the mutex.
                unsafe { open.set(true) };
                condvar.notify_all();
            }
            1..4 => _ = condvar.wait(mutex, Some(&passed())),
            _ => {
                // SAFETY: under the mutex.
                while !unsafe { open.get() } {
                    condvar.wait(mutex, None);
                }
            }
        }
        mutex.unlock();
    });
}

#[test]
fn a_crowded_mutex_loses_nobody() {
    explore(crowded_mutex);
}

#[test]
fn a_crowded_condvar_loses_nobody() {
    explore(crowded_condvar);
}

#[test]
fn a_release_that_strands_its_sleepers_is_noticed() {
    mutant::choose(Some(Mutant::StaleWakeKept));
    let result = catch_unwind(AssertUnwindSafe(|| explore(crowded_mutex)));
    mutant::choose(None);
    assert!(result.is_err(), "the schedules prove nothing");
}
