//! The once: one call, its waiters wake, and see what it did (ON-1).

use super::{explore, rejects};
use crate::lock::{IfPoisoned, OnceState, RawOnce};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use loom::thread;
use std::sync::Arc;

#[derive(Default)]
struct Made {
    once: RawOnce,
    value: CheckedCell<u32>,
}

impl Made {
    /// Makes the value, or waits until it is made.
    fn call(&self) {
        if !self.once.is_done() {
            self.once.call(IfPoisoned::Call, &mut |_| {
                // SAFETY: the one caller; loom checks it.
                unsafe { self.value.set(self.value.get() + 1) };
                true
            });
        }
    }

    fn value(&self) -> u32 {
        // SAFETY: after the call; loom checks it.
        unsafe { self.value.get() }
    }
}

/// All call, and each then looks at what one of them made.
fn all_call(threads: usize) {
    let made = Arc::new(Made::default());
    let call = |made: &Made| {
        made.call();
        assert_eq!(made.value(), 1);
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let made = Arc::clone(&made);
            thread::spawn(move || call(&made))
        })
        .collect();
    call(&made);
    others.into_iter().for_each(|other| other.join().unwrap());
}

/// One calls, the other waits for it without calling.
fn one_waits() {
    let made = Arc::new(Made::default());
    let waiter = {
        let made = Arc::clone(&made);
        thread::spawn(move || {
            if !made.once.is_done() {
                made.once.wait(IfPoisoned::Call);
            }
            assert_eq!(made.value(), 1);
        })
    };
    made.call();
    waiter.join().unwrap();
}

/// One call is cut short, and the other thread's, if it was waiting, begins anew and sees what the
/// first left.
fn one_is_cut_short() {
    let made = Arc::new(Made::default());
    let other = {
        let made = Arc::clone(&made);
        thread::spawn(move || made.call())
    };
    made.once.call(IfPoisoned::Call, &mut |from| {
        assert_eq!(from, OnceState::New);
        // SAFETY: the one caller; loom checks it.
        unsafe { made.value.set(10) };
        false
    });
    other.join().unwrap();
    assert_eq!(made.value() % 10, 1);
    assert_eq!(made.once.state(), OnceState::Done);
}

#[test]
fn one_of_two_calls() {
    explore(4, || all_call(2));
}

#[test]
fn one_of_three_calls() {
    explore(2, || all_call(3));
}

#[test]
fn a_thread_may_only_wait() {
    explore(4, one_waits);
}

#[test]
fn a_call_that_is_cut_short_is_made_again() {
    explore(3, one_is_cut_short);
}

#[test]
fn rejects_an_end_that_publishes_nothing() {
    rejects(Mutant::OnceRelaxed, 3, || all_call(2));
}

#[test]
fn rejects_an_end_without_a_wake() {
    rejects(Mutant::OnceWithoutWake, 3, || all_call(2));
}
