//! `FUTEX_WAIT`.
//!
//! The interleaving that must not lose a wakeup, the waiter on the left:
//!
//! ```text
//! CPU 0: wait(word, old)                CPU 1: word = new; wake(word)
//!
//!   waiters += 1                          word.store(new)
//!   full fence               (A)          full fence               (B)
//!   lock the bucket                       waiters == 0 ? return : go on
//!   word == old ? queue : leave           lock the bucket
//!   unlock the bucket                     choose and unlink waiters
//!   sleep                                 unlock the bucket, notify them
//! ```
//!
//! With both fences at least one side sees the other's store: either CPU 0 finds the new value and
//! leaves, or CPU 1 finds the count, waits for the bucket and finds the waiter. ORDERING.md has the
//! argument as O-1.

use super::Word;
use crate::lot::{self, Ended, Place, Wait};
use crate::sys::clock::Deadline;
use crate::sys::thread::nap;

/// How a wait on a word ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Woken by `wake` or a requeue (futex(2): 0). Rarely, when the kernel has no memory for a
    /// waiter's node, for no reason.
    Woken,
    /// The word didn't hold the expected value; nothing was waited for (futex(2): `EAGAIN`).
    Mismatch,
    /// The deadline passed first (futex(2): `ETIMEDOUT`).
    TimedOut,
}

/// Waits until woken, if `word` holds `expected`; without a deadline, as long as it takes.
///
/// The value is read with `SeqCst` ordering. It is checked first without a lock, so that a mismatch
/// costs a load, and again under the lock that wakers take: no wake between the check and the sleep
/// is lost, provided that the waker changed the word before it called `wake`. What the waker wrote
/// before `wake` is visible once this returns `Woken`.
///
/// A deadline that has passed already gives `TimedOut`, after the check for a mismatch. Signals
/// don't end the wait.
pub fn wait<W: Word>(word: &W, expected: W::Value, deadline: Option<&Deadline>) -> Waited {
    if word.value() != expected {
        return Waited::Mismatch;
    }
    wait_slow(word, expected, deadline)
}

#[cold]
fn wait_slow<W: Word>(word: &W, expected: W::Value, deadline: Option<&Deadline>) -> Waited {
    let Some(node) = lot::node() else {
        nap();
        let passed = deadline.is_some_and(Deadline::has_passed);
        return if passed { Waited::TimedOut } else { Waited::Woken };
    };
    let key = word.key();
    let mut bucket = lot::announce(key);
    if word.value() != expected {
        bucket.retract();
        return Waited::Mismatch;
    }
    let wait = Wait::enqueue(&mut bucket, &node, key, 0, Place::Back).until(deadline);
    drop(bucket);
    match wait.sleep(|_was_last| {}) {
        Ended::Chosen(_) | Ended::Interrupted => Waited::Woken,
        Ended::TimedOut => Waited::TimedOut,
    }
}
