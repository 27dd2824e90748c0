//! Waiting on many words: one wake wakes at one of them, and no wake is lost.

use super::{Apart, explore, rejects};
use crate::futex::{
    AnyWaited, Comparison, Expected, Operation, Registration, Waited, WakeOp, compare_requeue,
    requeue, wait, wait_any, wake, wake_op,
};
use crate::lot::{AnyEnded, Group, Key};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

type Words = Apart<AtomicU32, AtomicU32>;

fn both(words: &Words) -> [Expected<'_>; 2] {
    [Expected::new(&words.a, 0), Expected::new(&words.b, 0)]
}

fn store_and_wake(word: &AtomicU32) -> usize {
    word.store(1, Ordering::Relaxed);
    wake(word, 1)
}

/// Whatever word the waker changes, the waiter comes back.
fn either_word() {
    let words = Arc::new(Words::default());
    let waiter = {
        let words = Arc::clone(&words);
        thread::spawn(move || wait_any(&both(&words), None))
    };
    let woken = store_and_wake(&words.b);
    let expected = if woken == 1 { AnyWaited::Woken(1) } else { AnyWaited::Mismatch(1) };
    assert_eq!(waiter.join().unwrap(), expected);
}

/// Two wakers at two words: at most one of them says that it woke the waiter.
fn two_wakers() {
    let words = Arc::new(Words::default());
    let waiter = {
        let words = Arc::clone(&words);
        thread::spawn(move || wait_any(&both(&words), None))
    };
    let other = {
        let words = Arc::clone(&words);
        thread::spawn(move || store_and_wake(&words.a))
    };
    let woken = [0, store_and_wake(&words.b)];
    let woken = [other.join().unwrap(), woken[1]];
    assert!(woken[0] + woken[1] <= 1, "one waiter, woken twice");
    match waiter.join().unwrap() {
        AnyWaited::Woken(index) => assert_eq!(woken[index], 1),
        AnyWaited::Mismatch(_) => assert_eq!(woken, [0, 0]),
        AnyWaited::TimedOut => unreachable!("there is no deadline"),
    }
}

/// A wait on both words whose deadline passes, and another that waits for the second: the wake goes
/// to one of the two that still waits.
fn a_wake_passes_by_a_thread_that_has_left() {
    let words = Arc::new(Words::default());
    let any = {
        let words = Arc::clone(&words);
        let passed = Deadline::at(Clock::Monotonic, 0, 0);
        thread::spawn(move || wait_any(&both(&words), passed.as_ref()))
    };
    let other = {
        let words = Arc::clone(&words);
        thread::spawn(move || wait(&words.b, 0, None))
    };
    let woken = store_and_wake(&words.b);
    let any = any.join().unwrap();
    if woken == 0 || any == AnyWaited::Woken(1) {
        wake(&words.b, 1);
    }
    let other = other.join().unwrap();
    if woken == 1 && any != AnyWaited::Woken(1) {
        assert_eq!(other, Waited::Woken, "the wake reached neither");
    }
}

/// A registration waits, again and again, until the word has changed.
fn registered() {
    let words = Arc::new(Words::default());
    let waiter = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            let mut registration = Registration::new(both(&words).to_vec());
            while words.b.load(Ordering::Relaxed) == 0 {
                registration.wait(None);
            }
        })
    };
    store_and_wake(&words.b);
    waiter.join().unwrap();
}

/// A registration at the first word, until that has changed, against what `wake` does.
fn registered_against(wake: fn(&Words)) {
    let words = Arc::new(Words::default());
    let waiter = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            let mut registration = Registration::new(vec![Expected::new(&words.a, 0)]);
            while words.a.load(Ordering::Relaxed) == 0 {
                registration.wait(None);
            }
        })
    };
    wake(&words);
    waiter.join().unwrap();
}

/// A registration that was moved is found where it was moved to, and takes its place again.
fn registered_and_moved() {
    registered_against(|words| {
        let moved = requeue(&words.a, &words.b, 0, 1).moved;
        assert!(moved <= 1);
        words.a.store(1, Ordering::Relaxed);
        wake(&words.a, 1);
        wake(&words.b, 1);
    });
}

fn registered_and_compared() {
    registered_against(|words| {
        words.a.store(1, Ordering::Relaxed);
        assert!(compare_requeue(&words.a, 1, &words.b, 1, 0).is_ok());
    });
}

fn registered_and_changed() {
    registered_against(|words| {
        let (operation, comparison) = (Operation::Set, Comparison::Equal);
        let op = WakeOp { operation, operand: 1, comparison, comparand: 0 };
        wake_op(&words.b, 0, &words.a, 1, op);
    });
}

/// A registration for a descriptor, armed if both words are 0.
fn armed(words: &Words) -> (Group, Result<(), AnyEnded<()>>) {
    let keys = [&words.a, &words.b].map(|word| Key::word(std::ptr::from_ref(word).addr()));
    let mut group = Group::register_polled(keys.into_iter(), None).unwrap();
    let is_zero = |word: &AtomicU32| word.load(Ordering::SeqCst) == 0;
    let look = || if is_zero(&words.a) && is_zero(&words.b) { Ok(()) } else { Err(()) };
    let armed = group.arm_unless(look);
    (group, armed)
}

/// It is armed while another thread changes a word: it sees the change, or is told of it.
fn polled() {
    let words = Arc::new(Words::default());
    let waker = {
        let words = Arc::clone(&words);
        thread::spawn(move || store_and_wake(&words.b))
    };
    let (mut group, armed) = armed(&words);
    let early = group.take_chosen();
    let woken = waker.join().unwrap();
    match armed {
        Ok(()) => assert_eq!((early.or_else(|| group.take_chosen()), woken), (Some(1), 1)),
        Err(AnyEnded::Chosen(index)) => assert_eq!((index, woken), (1, 1)),
        Err(_) => assert_eq!(woken, 0),
    }
    assert_eq!(group.take_chosen(), None, "reported once");
}

/// It is dropped while it may be told, and a thread waits behind it for the same wake.
fn polled_and_dropped() {
    let words = Arc::new(Words::default());
    let (group, armed) = armed(&words);
    assert_eq!(armed, Ok(()));
    let waiter = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            while words.b.load(Ordering::Relaxed) == 0 {
                wait(&words.b, 0, None);
            }
        })
    };
    let waker = {
        let words = Arc::clone(&words);
        thread::spawn(move || store_and_wake(&words.b))
    };
    drop(group);
    waker.join().unwrap();
    waiter.join().unwrap();
}

#[test]
fn a_wake_at_either_word_is_enough() {
    explore(3, either_word);
}

#[test]
fn one_waiter_is_woken_once() {
    explore(2, two_wakers);
}

#[test]
fn a_wake_goes_to_a_thread_that_waits() {
    explore(2, a_wake_passes_by_a_thread_that_has_left);
}

#[test]
fn a_registration_loses_no_wake() {
    explore(3, registered);
}

#[test]
fn a_moved_registration_loses_no_wake() {
    explore(2, registered_and_moved);
}

#[test]
fn rejects_a_registration_without_its_fence() {
    rejects(Mutant::ArmWithoutFence, 3, registered);
}

#[test]
fn rejects_a_claim_taken_without_looking() {
    rejects(Mutant::ClaimWithoutCompare, 2, two_wakers);
}

#[test]
fn a_registration_loses_no_wake_by_a_compare_requeue() {
    explore(3, registered_and_compared);
}

#[test]
fn a_registration_loses_no_wake_by_a_wake_op() {
    explore(3, registered_and_changed);
}

#[test]
fn rejects_a_compare_requeue_without_its_fence() {
    rejects(Mutant::CompareWithoutFence, 3, registered_and_compared);
}

#[test]
fn rejects_a_wake_op_without_its_fence() {
    rejects(Mutant::ChangeWithoutFence, 3, registered_and_changed);
}

#[test]
fn a_registration_with_a_descriptor_loses_no_wake() {
    explore(3, polled);
}

#[test]
fn a_registration_with_a_descriptor_may_be_dropped_at_any_moment() {
    explore(3, polled_and_dropped);
}

#[test]
fn rejects_a_registration_that_is_polled_without_a_fence() {
    rejects(Mutant::ArmWithoutFence, 3, polled);
}

#[test]
fn rejects_a_registration_that_keeps_its_wake() {
    rejects(Mutant::DroppedTaskKeepsWake, 3, polled_and_dropped);
}
