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
use crate::lot::{self, Debt, Ended, Key, Place, Until, Wait};
use crate::sys::clock::Deadline;
use crate::sys::thread::nap;

/// How a wait on a word ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Woken by `wake` or a requeue (futex(2): 0). Rarely, when the kernel has no memory for a
    /// waiter's node, the wakeup is spurious.
    Woken,
    /// The word didn't hold the expected value; the call didn't wait (futex(2): `EAGAIN`).
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
    wait_bitset(word, expected, deadline, lot::ANY)
}

/// `wait` for wakes that have a bit in common with `bitset` (futex(2): `FUTEX_WAIT_BITSET`).
///
/// Wakes without a bitset match every waiter. With a bitset of 0 only the deadline ends the wait:
/// futex(2) refuses it.
#[inline]
pub fn wait_bitset<W: Word>(
    word: &W,
    expected: W::Value,
    deadline: Option<&Deadline>,
    bitset: u32,
) -> Waited {
    if word.value() != expected {
        return Waited::Mismatch;
    }
    wait_slow(word, expected, deadline, bitset)
}

/// `wait` without the lock-free check: for measuring the bucket's part of a wait.
#[doc(hidden)]
pub fn wait_in_bucket<W: Word>(
    word: &W,
    expected: W::Value,
    deadline: Option<&Deadline>,
) -> Waited {
    wait_slow(word, expected, deadline, lot::ANY)
}

#[cold]
fn wait_slow<W: Word>(
    word: &W,
    expected: W::Value,
    deadline: Option<&Deadline>,
    bitset: u32,
) -> Waited {
    let look = || if word.value() == expected { Ok(()) } else { Err(Waited::Mismatch) };
    match wait_at(word.key(), look, Until { deadline, ..Until::default() }, bitset) {
        Ok(Ended::Chosen(_) | Ended::Interrupted | Ended::Signalled) => Waited::Woken,
        Ok(Ended::TimedOut) => Waited::TimedOut,
        Err(why) => why,
    }
}

/// Waits at `key`, if `look` has no objection under the bucket's lock.
pub(crate) fn wait_at<E>(
    key: Key,
    look: impl FnOnce() -> Result<(), E>,
    until: Until<'_>,
    bitset: u32,
) -> Result<Ended, E> {
    wait_owing(key, look, until, bitset, None)
}

/// `wait_at` for a waiter that has an obligation if it leaves without returning.
pub(crate) fn wait_owing<E>(
    key: Key,
    look: impl FnOnce() -> Result<(), E>,
    until: Until<'_>,
    bitset: u32,
    debt: Option<Debt>,
) -> Result<Ended, E> {
    // A handler that must not take a lock can't queue itself.
    let Some(node) = (if lot::may_not_lock() { None } else { lot::node() }) else {
        look()?;
        nap();
        let passed = until.deadline.is_some_and(Deadline::has_passed);
        return Ok(if passed { Ended::TimedOut } else { Ended::Interrupted });
    };
    let mut bucket = lot::announce(key);
    if let Err(why) = look() {
        bucket.retract();
        return Err(why);
    }
    let wait = Wait::enqueue_for(&mut bucket, &node, key, 0, Place::Back, bitset)
        .ends_by(until)
        .owing(debt);
    drop(bucket);
    Ok(wait.sleep(|_was_last| {}))
}
