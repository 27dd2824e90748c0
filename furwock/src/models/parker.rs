//! The parker: a token ends a park, and carries what came before it (PK-1).

use super::{explore, rejects};
use crate::lock::RawParker;
use crate::prim::CheckedCell;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

#[derive(Default)]
struct Told {
    parker: RawParker,
    value: CheckedCell<u32>,
}

/// One thread writes and unparks, the other parks and reads.
fn tell() {
    let told = Arc::new(Told::default());
    let teller = {
        let told = Arc::clone(&told);
        thread::spawn(move || {
            // SAFETY: before the token; loom checks it.
            unsafe { told.value.set(1) };
            told.parker.unpark();
        })
    };
    assert!(told.parker.park(None));
    // SAFETY: after the token; loom checks it.
    assert_eq!(unsafe { told.value.get() }, 1);
    teller.join().unwrap();
}

/// A park that gives up either takes the token or leaves it to the next.
fn a_token_meets_a_deadline() {
    let told = Arc::new(Told::default());
    let teller = {
        let told = Arc::clone(&told);
        thread::spawn(move || told.parker.unpark())
    };
    let passed = Deadline::at(Clock::Monotonic, 0, 0);
    if !told.parker.park(passed.as_ref()) {
        assert!(told.parker.park(None));
    }
    teller.join().unwrap();
    assert!(!told.parker.park(passed.as_ref()), "one token");
}

/// Two threads each set a flag and unpark one that parks until it has seen both. It takes two
/// tokens, or one that stands for both.
fn two_tell() {
    let told = Arc::new((RawParker::new(), [AtomicU32::new(0), AtomicU32::new(0)]));
    let tellers: Vec<_> = (0..2)
        .map(|teller: usize| {
            let told = Arc::clone(&told);
            thread::spawn(move || {
                told.1[teller].store(1, Ordering::Relaxed);
                told.0.unpark();
            })
        })
        .collect();
    while told.1.iter().any(|flag| flag.load(Ordering::Relaxed) == 0) {
        assert!(told.0.park(None));
    }
    tellers.into_iter().for_each(|teller| teller.join().unwrap());
}

#[test]
fn a_token_carries_what_came_before() {
    explore(4, tell);
}

#[test]
fn a_token_is_taken_once_or_kept() {
    explore(4, a_token_meets_a_deadline);
}

#[test]
fn one_token_stands_for_two() {
    explore(3, two_tell);
}

#[test]
fn rejects_a_token_that_publishes_nothing() {
    rejects(Mutant::UnparkRelaxed, 3, tell);
}

#[test]
fn rejects_a_token_without_a_wake() {
    rejects(Mutant::UnparkWithoutWake, 3, tell);
}

#[test]
fn rejects_a_token_that_is_taken_in_two_steps() {
    rejects(Mutant::TokenTakenInTwoSteps, 3, two_tell);
}
