//! The condvar: no signal after the mutex is lost, and a moved waiter is woken (C-1 to C-4).

use super::{Apart, explore, rejects};
use crate::lock::{Outcome, RawCondvar, RawMutex};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

#[derive(Default)]
struct Condition {
    locks: Apart<RawMutex, RawCondvar>,
    holds: CheckedCell<bool>,
}

impl Condition {
    fn wait(&self) {
        let (mutex, condvar) = (&self.locks.a, &self.locks.b);
        mutex.lock();
        // SAFETY: under the mutex; loom checks it.
        while !unsafe { self.holds.get() } {
            condvar.wait(mutex, None);
        }
        mutex.unlock();
    }

    /// Waits once, at most until a deadline that has passed. Returns the outcome.
    fn try_wait(&self) -> Outcome {
        let passed = Deadline::at(Clock::Monotonic, 0, 0);
        self.locks.a.lock();
        let outcome = self.locks.b.wait(&self.locks.a, passed.as_ref());
        self.locks.a.unlock();
        outcome
    }

    /// Notifies before the condition holds, and keeps the mutex until it does.
    fn notify_and_set(&self, notify: fn(&RawCondvar)) {
        self.locks.a.lock();
        notify(&self.locks.b);
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.holds.set(true) };
        self.locks.a.unlock();
    }

    fn set(&self, notify: impl Fn(&RawCondvar), held: bool) {
        self.locks.a.lock();
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.holds.set(true) };
        if held {
            notify(&self.locks.b);
        }
        self.locks.a.unlock();
        if !held {
            notify(&self.locks.b);
        }
    }
}

pub(super) fn signal(condvar: &RawCondvar) {
    condvar.notify_one();
}

pub(super) fn broadcast(condvar: &RawCondvar) {
    condvar.notify_all();
}

/// As many signals as waiters, one after another.
fn two_signals(condvar: &RawCondvar) {
    condvar.notify_one();
    condvar.notify_one();
}

fn waiters_pass(waiters: usize, notify: fn(&RawCondvar), held: bool) {
    waiters_pass_at(Condition::default(), waiters, notify, held);
}

/// The same, in a forked child whose mutex has the SPIN of one of its parent's threads.
pub(super) fn waiters_pass_in_child(waiters: usize, notify: fn(&RawCondvar), held: bool) {
    let mut condition = Condition::default();
    condition.locks.a = RawMutex::with_stale_spinner();
    waiters_pass_at(condition, waiters, notify, held);
}

fn waiters_pass_at(condition: Condition, waiters: usize, notify: fn(&RawCondvar), held: bool) {
    let condition = Arc::new(condition);
    let waiters: Vec<_> = (0..waiters)
        .map(|_| {
            let condition = Arc::clone(&condition);
            thread::spawn(move || condition.wait())
        })
        .collect();
    condition.set(notify, held);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert!(condition.locks.a.is_quiet() || crate::sys::fork::is_child());
}

/// The notification wakes its only waiter at once, while the mutex is held, or moves it.
fn a_waiter_passes_woken(early: bool, notify: fn(&RawCondvar)) {
    let condition = Arc::new(Condition::default());
    if early {
        condition.locks.a.next_signal_wakes_early();
    }
    let waiter = {
        let condition = Arc::clone(&condition);
        thread::spawn(move || condition.wait())
    };
    condition.notify_and_set(notify);
    waiter.join().unwrap();
    assert!(condition.locks.a.is_quiet());
}

/// A signal and a deadline: if the signal says that it reached the waiter, the waiter was
/// signalled.
fn signal_or_deadline() {
    let condition = Arc::new(Condition::default());
    let waiter = {
        let condition = Arc::clone(&condition);
        thread::spawn(move || condition.try_wait())
    };
    condition.locks.a.lock();
    let reached = condition.locks.b.notify_one();
    condition.locks.a.unlock();
    assert_eq!(waiter.join().unwrap() == Outcome::Signalled, reached);
}

#[test]
fn a_signal_under_the_mutex_arrives() {
    explore(3, || waiters_pass(1, signal, true));
}

#[test]
fn a_signal_after_the_mutex_arrives() {
    explore(3, || waiters_pass(1, signal, false));
}

#[test]
fn a_broadcast_under_the_mutex_reaches_both() {
    explore(2, || waiters_pass(2, broadcast, true));
}

#[test]
fn a_broadcast_after_the_mutex_reaches_both() {
    explore(2, || waiters_pass(2, broadcast, false));
}

#[test]
fn two_signals_reach_both() {
    explore(2, || waiters_pass(2, two_signals, true));
    explore(2, || waiters_pass(2, two_signals, false));
}

#[test]
fn rejects_a_mark_that_is_cleared_too_soon() {
    rejects(Mutant::MarkClearedTooSoon, 2, || waiters_pass(2, two_signals, true));
}

#[test]
fn a_signalled_waiter_has_not_timed_out() {
    explore(3, signal_or_deadline);
}

#[test]
fn rejects_unlocking_before_queueing() {
    rejects(Mutant::UnlockBeforeEnqueue, 2, || waiters_pass(1, signal, true));
}

#[test]
fn a_signal_on_a_held_mutex_wakes_early_or_moves() {
    explore(3, || a_waiter_passes_woken(true, signal));
    explore(3, || a_waiter_passes_woken(false, signal));
}

#[test]
fn a_broadcast_to_one_waiter_is_a_signal() {
    for held in [true, false] {
        explore(3, move || waiters_pass(1, broadcast, held));
    }
    for early in [true, false] {
        explore(3, move || a_waiter_passes_woken(early, broadcast));
    }
}

#[test]
fn rejects_a_waiter_woken_early_that_goes_on_without_the_mutex() {
    rejects(Mutant::WokenEarlyGoesOn, 2, || a_waiter_passes_woken(true, signal));
}

/// A waiter after others, the last of which was woken early.
fn a_waiter_passes_after_others(were_signals: bool, notify: fn(&RawCondvar), held: bool) {
    let mut condition = Condition::default();
    condition.locks.b = RawCondvar::with_last_woken_early(were_signals);
    waiters_pass_at(condition, 1, notify, held);
}

#[test]
fn a_notification_after_an_early_wake_arrives() {
    for were_signals in [false, true] {
        for notify in [signal, broadcast] {
            for held in [false, true] {
                explore(2, move || a_waiter_passes_after_others(were_signals, notify, held));
            }
        }
    }
}

#[test]
fn rejects_a_mark_of_an_early_wake_where_a_waiter_queues() {
    rejects(Mutant::WaiterNotOverMark, 2, || a_waiter_passes_after_others(false, signal, true));
}

#[test]
fn rejects_moving_without_parked() {
    rejects(Mutant::MoveWithoutParked, 2, || waiters_pass(1, signal, true));
}

#[test]
fn rejects_moving_to_a_free_mutex() {
    rejects(Mutant::MoveToFreeMutex, 2, || waiters_pass(2, broadcast, false));
}
