//! Wait and wake with the lockless empty check (O-1).

use super::{explore, rejects};
use crate::futex::{Waited, wait, wake, wake_all};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

/// The waker stores and wakes once; the waiter must not sleep through it.
fn store_then_wake() {
    let word = Arc::new(AtomicU32::new(0));
    let waiter = {
        let word = Arc::clone(&word);
        thread::spawn(move || {
            while word.load(Ordering::Relaxed) == 0 {
                wait(&*word, 0, None);
            }
        })
    };
    word.store(1, Ordering::Relaxed);
    wake(&*word, 1);
    waiter.join().unwrap();
}

fn two_waiters_one_wake_all() {
    let word = Arc::new(AtomicU32::new(0));
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let word = Arc::clone(&word);
            thread::spawn(move || _ = wait(&*word, 0, None))
        })
        .collect();
    word.store(1, Ordering::Relaxed);
    wake_all(&*word);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

/// What `wake` says it woke is what woke.
fn wake_and_deadline_agree() {
    let word = Arc::new(AtomicU32::new(0));
    let waiter = {
        let word = Arc::clone(&word);
        let passed = Deadline::at(Clock::Monotonic, 0, 0);
        thread::spawn(move || wait(&*word, 0, passed.as_ref()))
    };
    let woken = wake(&*word, 1);
    assert_eq!(woken == 1, waiter.join().unwrap() == Waited::Woken);
}

#[test]
fn no_wake_is_lost() {
    explore(4, store_then_wake);
}

#[test]
fn wake_all_wakes_all() {
    explore(2, two_waiters_one_wake_all);
}

#[test]
fn woken_and_timed_out_exclude_one_another() {
    explore(4, wake_and_deadline_agree);
}

/// With more waiters than are notified one by one (in a model: two), the first notifies the rest.
#[test]
fn rejects_a_forgotten_fan_out() {
    rejects(Mutant::HeirsForgotten, 2, two_waiters_one_wake_all);
}

#[test]
fn rejects_a_waiter_without_its_fence() {
    rejects(Mutant::CountWithoutFence, 4, store_then_wake);
}

#[test]
fn rejects_a_waker_without_its_fence() {
    rejects(Mutant::EmptyCheckWithoutFence, 4, store_then_wake);
}
