//! Park and unpark: a chosen waiter wakes once, and sees what the waker wrote (O-2).

use super::{explore, rejects};
use crate::lot::{self, Ended, Key, Place, Verdict, Wait};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use loom::thread;
use std::sync::Arc;

fn key() -> Key {
    Key::word(128)
}

fn wait(deadline: Option<&Deadline>) -> Ended {
    let node = lot::node().unwrap();
    let mut bucket = lot::announce(key());
    let wait = Wait::enqueue(&mut bucket, &node, key(), 0, Place::Back).until(deadline);
    drop(bucket);
    wait.sleep(|_was_last| {})
}

/// A waker chooses the waiter as soon as it is queued; the letter is plain memory.
fn letter_arrives() {
    let letter = Arc::new(CheckedCell::new(0));
    let sent = Arc::clone(&letter);
    let waiter = thread::spawn(move || {
        let ended = wait(None);
        assert_eq!(ended, Ended::Chosen(Verdict { was_last: true, ..Verdict::WOKEN }));
        // SAFETY: written before the notification that ended the wait.
        assert_eq!(unsafe { letter.get() }, 7);
    });
    loop {
        let mut bucket = lot::lock(key());
        if bucket.has(key()) {
            // SAFETY: the reader waits for the notification.
            unsafe { sent.set(7) };
            bucket.choose_first(key(), Verdict::WOKEN);
            break;
        }
        drop(bucket);
        thread::yield_now();
    }
    waiter.join().unwrap();
}

/// A waker and a deadline: exactly one of them ends the wait, and both sides agree on which.
fn deadline_or_waker() {
    let waiter = thread::spawn(|| {
        let passed = Deadline::at(Clock::Monotonic, 0, 0);
        matches!(wait(passed.as_ref()), Ended::Chosen(_))
    });
    let chosen = lot::lock(key()).choose_first(key(), Verdict::WOKEN);
    assert_eq!(waiter.join().unwrap(), chosen);
    assert!(!lot::lock(key()).has(key()));
}

#[test]
fn a_chosen_waiter_sees_what_was_written_for_it() {
    explore(3, letter_arrives);
}

#[test]
fn a_waiter_is_chosen_or_times_out_never_both() {
    explore(4, deadline_or_waker);
}

#[test]
fn rejects_a_relaxed_notification() {
    rejects(Mutant::NotifyRelaxed, 3, letter_arrives);
}

#[test]
fn rejects_a_notification_without_the_kernels_wake() {
    rejects(Mutant::NotifyWithoutWake, 3, letter_arrives);
}
