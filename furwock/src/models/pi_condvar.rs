//! The PI mutex and condvar on a model of the kernel's queues (P-1 to P-4).

use super::{explore, rejects};
use crate::lock::Outcome;
use crate::lock::pi::{PiError, RawPiCondvar, RawPiMutex, Scope};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

struct Gate {
    mutex: RawPiMutex,
    changed: RawPiCondvar,
    open: CheckedCell<u32>,
}

impl Gate {
    fn new() -> Arc<Self> {
        let mutex = RawPiMutex::new(Scope::Private);
        Arc::new(Self { mutex, changed: RawPiCondvar::new(), open: CheckedCell::new(0) })
    }

    /// Takes one of `open`, waiting for it.
    fn pass(&self) {
        self.mutex.lock().unwrap();
        // SAFETY: under the mutex; loom checks it.
        while unsafe { self.open.get() } == 0 {
            self.changed.wait(&self.mutex, None).unwrap();
        }
        // SAFETY: as above.
        unsafe { self.open.set(self.open.get() - 1) };
        self.mutex.unlock().unwrap();
    }

    /// It is no longer in use: earlier users have left nothing behind.
    fn is_quiet(&self) -> bool {
        !self.mutex.is_locked() && self.changed.nobody_is_counted()
    }

    fn open(&self, count: u32, notify: fn(&RawPiCondvar), held: bool) {
        self.mutex.lock().unwrap();
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.open.set(self.open.get() + count) };
        if held {
            notify(&self.changed);
        }
        self.mutex.unlock().unwrap();
        if !held {
            notify(&self.changed);
        }
    }
}

fn one(changed: &RawPiCondvar) {
    changed.notify_one().unwrap();
}

fn all(changed: &RawPiCondvar) {
    changed.notify_all().unwrap();
}

/// Two threads count without the condvar.
fn mutual_exclusion() {
    let gate = Gate::new();
    let add = |gate: &Gate| {
        gate.mutex.lock().unwrap();
        // SAFETY: under the mutex; loom checks it.
        unsafe { gate.open.set(gate.open.get() + 1) };
        gate.mutex.unlock().unwrap();
    };
    let other = Arc::clone(&gate);
    let thread = thread::spawn(move || add(&other));
    add(&gate);
    thread.join().unwrap();
    assert!(gate.is_quiet());
    // SAFETY: the other thread has ended.
    assert_eq!(unsafe { gate.open.get() }, 2);
}

fn waiters_pass(waiters: u32, notify: fn(&RawPiCondvar), held: bool) {
    let gate = Gate::new();
    let waiters: Vec<_> = (0..waiters)
        .map(|_| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.pass())
        })
        .collect();
    gate.open(waiters.len() as u32, notify, held);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert!(gate.is_quiet());
    assert_eq!(gate.changed.notify_all(), Ok(0));
}

/// Two waiters, and two notifiers of one each that meet outside the mutex.
fn two_notifiers() {
    let gate = Gate::new();
    let mut threads: Vec<_> = (0..2)
        .map(|_| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.pass())
        })
        .collect();
    let other = Arc::clone(&gate);
    threads.push(thread::spawn(move || other.open(1, one, false)));
    gate.open(1, one, false);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(gate.is_quiet());
}

/// A notification and a deadline: if the notification moved the waiter, the waiter hasn't timed
/// out.
fn notification_or_deadline() {
    let gate = Gate::new();
    let waiter = {
        let gate = Arc::clone(&gate);
        thread::spawn(move || {
            let passed = Deadline::at(Clock::Monotonic, 0, 0);
            gate.mutex.lock().unwrap();
            let waited = gate.changed.wait(&gate.mutex, passed.as_ref()).unwrap();
            gate.mutex.unlock().unwrap();
            waited.outcome
        })
    };
    gate.mutex.lock().unwrap();
    let moved = gate.changed.notify_one().unwrap();
    gate.mutex.unlock().unwrap();
    let outcome = waiter.join().unwrap();
    assert!(!moved || outcome == Outcome::Signalled);
    assert!(gate.is_quiet());
}

/// One thread waits with the gate's mutex, one with another: it waits, or is told.
fn two_mutexes() {
    let gate = Gate::new();
    let other = {
        let gate = Arc::clone(&gate);
        thread::spawn(move || {
            let passed = Deadline::at(Clock::Monotonic, 0, 0);
            let mutex = RawPiMutex::new(Scope::Private);
            mutex.lock().unwrap();
            match gate.changed.wait(&mutex, passed.as_ref()) {
                Ok(_) => mutex.unlock().unwrap(),
                Err(error) => assert_eq!(error, PiError::OtherMutex),
            }
            assert!(!mutex.is_locked());
        })
    };
    let passed = Deadline::at(Clock::Monotonic, 0, 0);
    gate.mutex.lock().unwrap();
    match gate.changed.wait(&gate.mutex, passed.as_ref()) {
        Ok(_) => gate.mutex.unlock().unwrap(),
        Err(error) => assert_eq!(error, PiError::OtherMutex),
    }
    other.join().unwrap();
    assert_eq!(gate.changed.notify_one(), Ok(false));
    assert!(gate.is_quiet());
}

/// A waiter's deadline passes while a thread that holds its mutex waits for what the waiter holds:
/// the waiter may be told of the circle, and leave while the other, tired of waiting, waits on the
/// condvar too.
fn circle() {
    let gate = Gate::new();
    let other = Arc::new(RawPiMutex::new(Scope::Private));
    let passed = Deadline::at(Clock::Monotonic, 0, 0).unwrap();
    let waiter = {
        let (gate, other) = (Arc::clone(&gate), Arc::clone(&other));
        thread::spawn(move || {
            other.lock().unwrap();
            let waited =
                gate.mutex.lock().and_then(|_| gate.changed.wait(&gate.mutex, Some(&passed)));
            match waited {
                Ok(_) => gate.mutex.unlock().unwrap(),
                Err(error) => assert_eq!(error, PiError::Deadlock),
            }
            other.unlock().unwrap();
        })
    };
    gate.mutex.lock().unwrap();
    match other.lock_until(&passed) {
        Ok(_) => other.unlock().unwrap(),
        Err(error) => assert!([PiError::Deadlock, PiError::TimedOut].contains(&error)),
    }
    gate.changed.wait(&gate.mutex, Some(&passed)).unwrap();
    gate.mutex.unlock().unwrap();
    waiter.join().unwrap();
    assert!(!other.is_locked() && gate.is_quiet());
}

#[test]
fn one_at_a_time() {
    explore(3, mutual_exclusion);
}

#[test]
fn a_notification_under_the_mutex_arrives() {
    explore(3, || waiters_pass(1, one, true));
}

#[test]
fn a_notification_after_the_mutex_arrives() {
    explore(3, || waiters_pass(1, one, false));
}

#[test]
fn a_notification_to_all_reaches_both() {
    explore(2, || waiters_pass(2, all, true));
    explore(2, || waiters_pass(2, all, false));
}

#[test]
fn two_notifications_reach_two() {
    explore(2, two_notifiers);
}

#[test]
fn a_notified_waiter_has_not_timed_out() {
    explore(3, notification_or_deadline);
}

#[test]
fn a_second_mutex_is_refused_or_waits() {
    explore(3, two_mutexes);
}

#[test]
fn a_waiter_that_cannot_come_back_is_not_counted() {
    explore(3, circle);
}

#[test]
fn rejects_counting_in_two_steps() {
    rejects(Mutant::CountedInTwoSteps, 5, circle);
}

#[test]
fn rejects_counting_who_cannot_come_back() {
    rejects(Mutant::ErrorStaysCounted, 3, circle);
}

#[test]
fn rejects_a_sequence_read_unlocked() {
    rejects(Mutant::SequenceReadUnlocked, 2, || waiters_pass(1, one, true));
}

#[test]
fn rejects_a_sequence_that_stands_still() {
    rejects(Mutant::SequenceKept, 2, || waiters_pass(1, one, true));
}

#[test]
fn rejects_a_requeue_that_gives_up() {
    rejects(Mutant::RequeueNotRepeated, 3, two_notifiers);
}

#[test]
fn rejects_a_move_that_timed_out() {
    rejects(Mutant::NotificationTimedOut, 3, notification_or_deadline);
}

#[test]
fn rejects_forgetting_the_mutex_of_others() {
    rejects(Mutant::UnboundByAnyWaiter, 3, || waiters_pass(2, twice, false));
}

fn twice(changed: &RawPiCondvar) {
    one(changed);
    one(changed);
}
