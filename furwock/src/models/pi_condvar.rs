//! The PI mutex and condvar on a model of the kernel's queues (P-1 to P-4).

use super::{explore, rejects};
use crate::lock::Outcome;
use crate::lock::pi::{PiError, RawPiCondvar, RawPiMutex, Scope};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

struct Tickets {
    mutex: RawPiMutex,
    changed: RawPiCondvar,
    left: CheckedCell<u32>,
}

impl Tickets {
    fn new() -> Arc<Self> {
        let mutex = RawPiMutex::new(Scope::Private);
        Arc::new(Self { mutex, changed: RawPiCondvar::new(), left: CheckedCell::new(0) })
    }

    /// Takes one of `left`, waiting for it.
    fn take(&self) {
        self.mutex.lock().unwrap();
        // SAFETY: under the mutex; loom checks it.
        while unsafe { self.left.get() } == 0 {
            self.changed.wait(&self.mutex, None).unwrap();
        }
        // SAFETY: as above.
        unsafe { self.left.set(self.left.get() - 1) };
        self.mutex.unlock().unwrap();
    }

    /// It is no longer in use: earlier users have left nothing behind.
    fn is_quiet(&self) -> bool {
        !self.mutex.is_locked() && self.changed.counts_no_waiters()
    }

    fn issue(&self, count: u32, notify: fn(&RawPiCondvar), held: bool) {
        self.mutex.lock().unwrap();
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.left.set(self.left.get() + count) };
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
    let tickets = Tickets::new();
    let add = |tickets: &Tickets| {
        tickets.mutex.lock().unwrap();
        // SAFETY: under the mutex; loom checks it.
        unsafe { tickets.left.set(tickets.left.get() + 1) };
        tickets.mutex.unlock().unwrap();
    };
    let other = Arc::clone(&tickets);
    let thread = thread::spawn(move || add(&other));
    add(&tickets);
    thread.join().unwrap();
    assert!(tickets.is_quiet());
    // SAFETY: the other thread has ended.
    assert_eq!(unsafe { tickets.left.get() }, 2);
}

fn waiters_pass(waiters: u32, notify: fn(&RawPiCondvar), held: bool) {
    let tickets = Tickets::new();
    let waiters: Vec<_> = (0..waiters)
        .map(|_| {
            let tickets = Arc::clone(&tickets);
            thread::spawn(move || tickets.take())
        })
        .collect();
    tickets.issue(waiters.len() as u32, notify, held);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert!(tickets.is_quiet());
    assert_eq!(tickets.changed.notify_all(), Ok(0));
}

/// Two waiters, and two notifiers of one each that meet outside the mutex.
fn two_notifiers() {
    let tickets = Tickets::new();
    let mut threads: Vec<_> = (0..2)
        .map(|_| {
            let tickets = Arc::clone(&tickets);
            thread::spawn(move || tickets.take())
        })
        .collect();
    let other = Arc::clone(&tickets);
    threads.push(thread::spawn(move || other.issue(1, one, false)));
    tickets.issue(1, one, false);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(tickets.is_quiet());
}

/// A notification and a deadline: if the notification moved the waiter, the waiter hasn't timed
/// out.
fn notification_or_deadline() {
    let tickets = Tickets::new();
    let waiter = {
        let tickets = Arc::clone(&tickets);
        thread::spawn(move || {
            let passed = Deadline::at(Clock::Monotonic, 0, 0);
            tickets.mutex.lock().unwrap();
            let waited = tickets.changed.wait(&tickets.mutex, passed.as_ref()).unwrap();
            tickets.mutex.unlock().unwrap();
            waited.outcome
        })
    };
    tickets.mutex.lock().unwrap();
    let moved = tickets.changed.notify_one().unwrap();
    tickets.mutex.unlock().unwrap();
    let outcome = waiter.join().unwrap();
    assert!(!moved || outcome == Outcome::Signalled);
    assert!(tickets.is_quiet());
}

/// One thread waits with the tickets' mutex, one with another: it waits, or gets an error.
fn two_mutexes() {
    let tickets = Tickets::new();
    let other = {
        let tickets = Arc::clone(&tickets);
        thread::spawn(move || {
            let passed = Deadline::at(Clock::Monotonic, 0, 0);
            let mutex = RawPiMutex::new(Scope::Private);
            mutex.lock().unwrap();
            match tickets.changed.wait(&mutex, passed.as_ref()) {
                Ok(_) => mutex.unlock().unwrap(),
                Err(error) => assert_eq!(error, PiError::OtherMutex),
            }
            assert!(!mutex.is_locked());
        })
    };
    let passed = Deadline::at(Clock::Monotonic, 0, 0);
    tickets.mutex.lock().unwrap();
    match tickets.changed.wait(&tickets.mutex, passed.as_ref()) {
        Ok(_) => tickets.mutex.unlock().unwrap(),
        Err(error) => assert_eq!(error, PiError::OtherMutex),
    }
    other.join().unwrap();
    assert_eq!(tickets.changed.notify_one(), Ok(false));
    assert!(tickets.is_quiet());
}

/// A waiter's deadline passes while a thread that holds its mutex waits for what the waiter holds:
/// the waiter may learn of the circle, and leave while the other, tired of waiting, waits on the
/// condvar too.
fn circle() {
    let tickets = Tickets::new();
    let other = Arc::new(RawPiMutex::new(Scope::Private));
    let passed = Deadline::at(Clock::Monotonic, 0, 0).unwrap();
    let waiter = {
        let (tickets, other) = (Arc::clone(&tickets), Arc::clone(&other));
        thread::spawn(move || {
            other.lock().unwrap();
            let waited = tickets
                .mutex
                .lock()
                .and_then(|_| tickets.changed.wait(&tickets.mutex, Some(&passed)));
            match waited {
                Ok(_) => tickets.mutex.unlock().unwrap(),
                Err(error) => assert_eq!(error, PiError::Deadlock),
            }
            other.unlock().unwrap();
        })
    };
    tickets.mutex.lock().unwrap();
    match other.lock_until(&passed) {
        Ok(_) => other.unlock().unwrap(),
        Err(error) => assert!([PiError::Deadlock, PiError::TimedOut].contains(&error)),
    }
    tickets.changed.wait(&tickets.mutex, Some(&passed)).unwrap();
    tickets.mutex.unlock().unwrap();
    waiter.join().unwrap();
    assert!(!other.is_locked() && tickets.is_quiet());
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
fn rejects_counting_a_waiter_that_cannot_come_back() {
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
    rejects(Mutant::RequeueNotRepeated, 2, two_notifiers);
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
