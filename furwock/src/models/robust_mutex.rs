//! The robust mutex excludes, and no death leaves others asleep (RB-2).

use super::{explore, rejects};
use crate::lock::robust::{Held, RawRobustMutex};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

#[derive(Default)]
struct Counter {
    mutex: RawRobustMutex,
    count: CheckedCell<usize>,
}

impl Counter {
    fn lock(&self) -> Held {
        // SAFETY: the Arc keeps it in place.
        unsafe { self.mutex.lock() }.unwrap()
    }

    fn add(&self) {
        if self.lock() == Held::OwnerDied {
            assert!(self.mutex.make_consistent());
        }
        self.add_locked();
        self.unlock();
    }

    fn unlock(&self) {
        // SAFETY: the callers hold it.
        unsafe { self.mutex.unlock() };
    }

    fn add_locked(&self) {
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.count.set(self.count.get() + 1) };
    }

    fn add_timed(&self) {
        let passed = Deadline::at(Clock::Monotonic, 0, 0).unwrap();
        // SAFETY: the Arc keeps it in place.
        if unsafe { self.mutex.lock_until(&passed) }.is_ok() {
            self.add_locked();
            self.unlock();
        }
    }

    fn add_and_die(&self) {
        if self.lock() == Held::OwnerDied {
            assert!(self.mutex.make_consistent());
        }
        self.add_locked();
        self.mutex.die();
    }
}

/// Runs each of `works` in a thread of its own; the last one here. The lock stays to be had.
fn together(works: &[fn(&Counter)]) {
    let counter = Arc::new(Counter::default());
    let (own, others) = works.split_last().unwrap();
    let others: Vec<_> = others
        .iter()
        .map(|&work| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || work(&counter))
        })
        .collect();
    own(&counter);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert!(!counter.mutex.is_locked());
    counter.add();
}

fn three_threads() {
    together(&[Counter::add, Counter::add, Counter::add]);
}

fn two_threads() {
    together(&[Counter::add, Counter::add]);
}

fn a_top_waiter_dies() {
    together(&[Counter::add, |counter| counter.mutex.die_in_turnstile(), Counter::add]);
}

#[test]
fn two_threads_exclude_one_another() {
    explore(4, two_threads);
}

#[test]
fn three_threads_lose_no_wake() {
    explore(2, three_threads);
}

#[test]
fn a_timed_waiter_leaves_the_rest_alone() {
    explore(2, || together(&[Counter::add, Counter::add_timed, Counter::add]));
}

#[test]
fn a_holders_death_wakes_the_next() {
    explore(2, || together(&[Counter::add, Counter::add_and_die, Counter::add]));
}

#[test]
fn a_top_waiters_death_wakes_the_next() {
    explore(2, a_top_waiter_dies);
}

#[test]
fn rejects_a_turnstile_without_wake() {
    rejects(Mutant::TurnstileWithoutWake, 3, three_threads);
}

#[test]
fn rejects_an_unmarked_turnstile() {
    rejects(Mutant::TurnstileUnmarked, 3, a_top_waiter_dies);
}

#[test]
fn rejects_an_unmarked_top_waiter() {
    rejects(Mutant::TopWaiterUnmarked, 3, two_threads);
}

#[test]
fn rejects_a_relaxed_release() {
    rejects(Mutant::RobustUnlockRelaxed, 3, two_threads);
}
