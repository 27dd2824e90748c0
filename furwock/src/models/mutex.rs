//! The mutex excludes and loses no wakeup (M-1 to M-5).
//!
//! In a model a spinner probes once, a deadline has always passed, and a waiter that was woken in
//! vain always asks for the hand-off: all paths of the slow path are within a few steps.

use super::{explore, rejects};
use crate::lock::{Options, RawMutex, with_brief_spells};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

#[derive(Default)]
struct Counter {
    mutex: RawMutex,
    count: CheckedCell<usize>,
}

impl Counter {
    fn add(&self) {
        self.mutex.lock();
        self.add_locked();
    }

    /// Adds 1 if the lock is to be had in no time.
    fn add_timed(&self) -> bool {
        let passed = Deadline::at(Clock::Monotonic, 0, 0).unwrap();
        let taken = self.mutex.lock_with(&Options::new().until(passed)).is_some();
        if taken {
            self.add_locked();
        }
        taken
    }

    fn add_locked(&self) {
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.count.set(self.count.get() + 1) };
        self.mutex.unlock();
    }
}

/// Runs `work` in `threads` threads, each with its number; the sum of what they return was counted.
fn count(threads: usize, work: fn(&Counter, usize) -> usize) {
    let counter = Arc::new(Counter::default());
    let others: Vec<_> = (1..threads)
        .map(|number| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || work(&counter, number))
        })
        .collect();
    let mut sum = work(&counter, 0);
    sum += others.into_iter().map(|other| other.join().unwrap()).sum::<usize>();
    // No thread is left, and the word says so: else every later lock would be slow.
    assert!(counter.mutex.is_quiet());
    counter.mutex.lock();
    // SAFETY: under the mutex.
    assert_eq!(unsafe { counter.count.get() }, sum);
    counter.mutex.unlock();
}

fn add_once(counter: &Counter, _number: usize) -> usize {
    counter.add();
    1
}

fn add_twice(counter: &Counter, _number: usize) -> usize {
    counter.add();
    counter.add();
    2
}

/// Thread 1 has no patience; the others must not suffer for it.
fn one_impatient(counter: &Counter, number: usize) -> usize {
    if number == 1 {
        return counter.add_timed().into();
    }
    counter.add();
    1
}

/// The same, and thread 0 comes back: a wake that was claimed for thread 1 as it left must not keep
/// the next release from waking thread 0.
fn one_impatient_one_back(counter: &Counter, number: usize) -> usize {
    if number == 0 { add_twice(counter, number) } else { one_impatient(counter, number) }
}

/// Thread 1 asks for the lock to be handed over, and may be gone when it is.
fn one_asks_and_leaves(counter: &Counter, number: usize) -> usize {
    if number == 1 {
        return usize::from(counter.add_timed()) + usize::from(counter.add_timed());
    }
    add_twice(counter, number)
}

#[test]
fn a_hand_off_without_a_waiter_releases() {
    explore(4, || count(2, one_asks_and_leaves));
}

#[test]
fn rejects_a_relaxed_hand_off_without_a_waiter() {
    rejects(Mutant::HandOffRelaxed, 5, || count(2, one_asks_and_leaves));
}

#[test]
fn two_threads_twice() {
    explore(3, || count(2, add_twice));
}

#[test]
fn three_threads_once() {
    explore(3, || count(3, add_once));
}

#[test]
fn three_threads_one_with_a_deadline() {
    explore(3, || count(3, one_impatient));
}

#[test]
fn three_threads_one_with_a_deadline_one_twice() {
    explore(2, || count(3, one_impatient_one_back));
}

#[test]
fn rejects_parking_on_a_free_lock() {
    rejects(Mutant::ParkOnFreeLock, 2, || count(2, add_once));
}

/// Other models leave brief spells out, which are no more than a second try to take a free lock:
/// with them, they would reach less of what follows.
#[test]
fn three_threads_with_brief_spells() {
    with_brief_spells(|| explore(2, || count(3, add_once)));
}

#[test]
fn rejects_a_spinner_that_sleeps_as_one() {
    rejects(Mutant::SpinKeptAsleep, 3, || count(3, add_once));
}

#[test]
fn rejects_a_wake_dropped_at_the_deadline() {
    rejects(Mutant::TimedOutWakeDropped, 3, || count(3, one_impatient));
}

#[test]
fn rejects_a_stale_wake_that_is_kept() {
    rejects(Mutant::StaleWakeKept, 3, || count(3, one_impatient_one_back));
}

#[test]
fn rejects_a_relaxed_unlock() {
    rejects(Mutant::UnlockRelaxed, 2, || count(2, add_once));
}

#[test]
fn rejects_a_wake_that_is_not_expected() {
    rejects(Mutant::WakeNotExpected, 3, || count(3, one_impatient_one_back));
}

#[test]
fn rejects_a_place_left_to_none() {
    rejects(Mutant::PlaceLeftToNone, 2, || count(2, add_once));
}
