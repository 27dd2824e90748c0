//! The semaphore: no permit is lost or made, and each carries what its giver did (SE-1).

use super::{explore, rejects};
use crate::lock::RawSemaphore;
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use crate::unstable::semaphore::{PermitWaited, acquire_interruptible, release_quietly};
use loom::thread;
use std::sync::Arc;

/// `CheckedCell` tells whether the permit carries the write.
struct Handed {
    permits: RawSemaphore,
    value: CheckedCell<u32>,
}

fn none() -> RawSemaphore {
    RawSemaphore::new(0).unwrap()
}

/// As the preload does.
fn release_as_sem_post(permits: &RawSemaphore) {
    if !release_quietly(permits).unwrap() {
        permits.release().unwrap();
    }
}

/// One thread makes a permit by `release`, the other takes it.
fn hand_over_by(release: fn(&RawSemaphore)) {
    let handed = Arc::new(Handed { permits: none(), value: CheckedCell::new(0) });
    let giver = {
        let handed = Arc::clone(&handed);
        thread::spawn(move || {
            // SAFETY: before the permit; loom checks it.
            unsafe { handed.value.set(1) };
            release(&handed.permits);
        })
    };
    handed.permits.acquire();
    // SAFETY: with the permit; loom checks it.
    assert_eq!(unsafe { handed.value.get() }, 1);
    giver.join().unwrap();
}

fn hand_over() {
    hand_over_by(|permits| permits.release().unwrap());
}

fn hand_over_as_sem_post() {
    hand_over_by(release_as_sem_post);
}

/// Two threads that wait, and two permits by one call or by two.
fn two_for_two(at_once: bool) {
    let semaphore = Arc::new(none());
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let semaphore = Arc::clone(&semaphore);
            thread::spawn(move || semaphore.acquire())
        })
        .collect();
    if at_once {
        semaphore.release_many(2).unwrap();
    } else {
        semaphore.release().unwrap();
        semaphore.release().unwrap();
    }
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// A waiter gives up at its deadline while a permit comes, and another waits for as long as it
/// takes.
fn one_gives_up() {
    let semaphore = Arc::new(none());
    let patient = {
        let semaphore = Arc::clone(&semaphore);
        thread::spawn(move || semaphore.acquire())
    };
    let hasty = {
        let semaphore = Arc::clone(&semaphore);
        thread::spawn(move || {
            let passed = Deadline::at(Clock::Monotonic, 0, 0);
            let ended = acquire_interruptible(&semaphore, passed.as_ref());
            if ended == PermitWaited::Permit {
                semaphore.release().unwrap();
            }
        })
    };
    semaphore.release().unwrap();
    hasty.join().unwrap();
    patient.join().unwrap();
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// Two threads pass one permit between them, as a lock.
fn as_a_lock() {
    let lock =
        Arc::new(Handed { permits: RawSemaphore::new(1).unwrap(), value: CheckedCell::new(0) });
    let add = |lock: &Handed| {
        lock.permits.acquire();
        // SAFETY: with the permit; loom checks it.
        unsafe { lock.value.set(lock.value.get() + 1) };
        lock.permits.release().unwrap();
    };
    let other = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || add(&lock))
    };
    add(&lock);
    other.join().unwrap();
    // SAFETY: the other thread has ended.
    assert_eq!(unsafe { lock.value.get() }, 2);
}

#[test]
fn a_permit_reaches_the_waiter() {
    explore(4, hand_over);
}

#[test]
fn a_permit_by_sem_post_reaches_the_waiter() {
    explore(4, hand_over_as_sem_post);
}

#[test]
fn as_many_permits_as_waiters_reach_all() {
    explore(2, || two_for_two(false));
}

#[test]
fn permits_made_at_once_reach_all() {
    explore(2, || two_for_two(true));
}

#[test]
fn a_waiter_that_gives_up_takes_no_permit_along() {
    explore(2, one_gives_up);
}

#[test]
fn one_permit_is_a_lock() {
    explore(3, as_a_lock);
}

#[test]
fn rejects_a_waiter_that_is_not_counted() {
    rejects(Mutant::WaiterUncounted, 3, hand_over);
}

#[test]
fn rejects_a_release_that_looks_for_waiters_first() {
    rejects(Mutant::WaitersReadBefore, 3, hand_over);
}

#[test]
fn rejects_a_permit_that_publishes_nothing() {
    rejects(Mutant::PermitRelaxed, 3, hand_over);
    rejects(Mutant::PermitRelaxed, 3, hand_over_as_sem_post);
}
