//! Requeue: a waiter that was moved is found where it was moved to.

use super::{Apart, explore, rejects};
use crate::futex::{Requeued, Waited, compare_requeue, requeue, wait, wake};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

type Words = Apart<AtomicU32, AtomicU32>;

fn start_waiter(words: &Arc<Words>, deadline: Option<Deadline>) -> thread::JoinHandle<Waited> {
    let words = Arc::clone(words);
    thread::spawn(move || wait(&words.a, 0, deadline.as_ref()))
}

/// The waiter is moved, or wasn't there yet and finds the word changed; then a waiter, if there is
/// one, is woken.
fn moved_then_woken() {
    let words = Arc::new(Words::default());
    let waiter = start_waiter(&words, None);
    words.a.store(1, Ordering::Relaxed);
    let done = requeue(&words.a, &words.b, 0, 1);
    let woken = wake(&words.b, 1);
    assert_eq!(done, Requeued { woken: 0, moved: woken });
    let expected = if woken == 1 { Waited::Woken } else { Waited::Mismatch };
    assert_eq!(waiter.join().unwrap(), expected);
}

/// Two requeues in opposite directions don't wait for one another, and no waiter is lost.
fn opposite_directions() {
    let words = Arc::new(Words::default());
    let waiter = start_waiter(&words, None);
    let back = {
        let words = Arc::clone(&words);
        thread::spawn(move || _ = requeue(&words.b, &words.a, 0, 1))
    };
    requeue(&words.a, &words.b, 0, 1);
    back.join().unwrap();
    words.a.store(1, Ordering::Relaxed);
    let woken = wake(&words.a, 1) + wake(&words.b, 1);
    assert_eq!(woken == 1, waiter.join().unwrap() == Waited::Woken);
}

/// Two compare-and-requeues in opposite directions lock both buckets whether a thread waits or not.
fn opposite_locks() {
    let words = Arc::new(Words::default());
    let back = {
        let words = Arc::clone(&words);
        thread::spawn(move || _ = compare_requeue(&words.b, 0, &words.a, 0, 1))
    };
    _ = compare_requeue(&words.a, 0, &words.b, 0, 1);
    back.join().unwrap();
}

/// A deadline passes while the waiter is being moved: it leaves the queue that it is in.
fn deadline_of_a_moved_waiter() {
    let words = Arc::new(Words::default());
    let waiter = start_waiter(&words, Deadline::at(Clock::Monotonic, 0, 0));
    let moved = compare_requeue(&words.a, 0, &words.b, 0, 1).unwrap().moved;
    let woken = wake(&words.b, 1);
    assert!(woken <= moved);
    assert_eq!(woken == 1, waiter.join().unwrap() == Waited::Woken);
    assert_eq!(wake(&words.a, 1) + wake(&words.b, 1), 0);
}

#[test]
fn a_moved_waiter_is_woken_at_its_new_word() {
    explore(3, moved_then_woken);
}

#[test]
fn opposite_requeues_neither_deadlock_nor_lose() {
    explore(2, opposite_directions);
}

#[test]
fn a_moved_waiter_times_out_where_it_is() {
    explore(3, deadline_of_a_moved_waiter);
}

#[test]
fn opposite_locks_do_not_wait_for_one_another() {
    explore(3, opposite_locks);
}

#[test]
fn rejects_two_buckets_locked_in_the_callers_order() {
    rejects(Mutant::PairInCallersOrder, 3, opposite_locks);
}

#[test]
fn rejects_a_move_that_leaves_the_count_behind() {
    rejects(Mutant::RequeueWithoutCount, 3, moved_then_woken);
}
