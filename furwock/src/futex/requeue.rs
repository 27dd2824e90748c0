//! `FUTEX_REQUEUE` and `FUTEX_CMP_REQUEUE`.

use super::Word;
use crate::lot::{self, Key, LockedPair};
use crate::prim::full_fence_after_rmw;
use crate::prim::mutant::{self, Mutant};

/// What a requeue did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requeued {
    /// Waiters woken.
    pub woken: usize,
    /// Waiters moved to the other word.
    pub moved: usize,
}

/// The word didn't hold the expected value; no waiter was woken or moved (futex(2): `EAGAIN`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the word to requeue from no longer holds the expected value")
    }
}

impl core::error::Error for Mismatch {}

/// Wakes up to `wake` waiters of `from`, and moves up to `relocate` of the others, in order, to the
/// end of the queue of `to`.
///
/// In a signal handler that has interrupted its own thread inside the engine, wakes all waiters of
/// `from` instead.
///
/// A moved waiter keeps its deadline and waits until `to` is woken; it notices nothing else. The
/// value of `to` is not checked. If both words are the same, the waiters to be moved are counted
/// and stay.
pub fn requeue<F: Word, T: Word>(from: &F, to: &T, wake: usize, relocate: usize) -> Requeued {
    requeue_at(from.key(), to.key(), wake, relocate)
}

/// The same, provided that `from` holds `expected`.
///
/// The check and the requeue are one atomic step for every call that waits on, wakes or requeues
/// `from`.
///
/// # Errors
/// `Mismatch` if it doesn't.
pub fn compare_requeue<F: Word, T: Word>(
    from: &F,
    expected: F::Value,
    to: &T,
    wake: usize,
    relocate: usize,
) -> Result<Requeued, Mismatch> {
    let look = || if from.value() == expected { Ok(()) } else { Err(Mismatch) };
    compare_requeue_at(from.key(), look, to.key(), wake, relocate)
}

pub(crate) fn requeue_at(from: Key, to: Key, wake: usize, relocate: usize) -> Requeued {
    if lot::is_empty(from) || lot::leave_wake(from, usize::MAX, lot::ANY) {
        return Requeued::default();
    }
    requeue_locked(&mut lot::lock_pair(from, to), from, to, wake, relocate)
}

pub(crate) fn compare_requeue_at<E>(
    from: Key,
    look: impl FnOnce() -> Result<(), E>,
    to: Key,
    wake: usize,
    relocate: usize,
) -> Result<Requeued, E> {
    if lot::may_not_lock() {
        look()?;
        return Ok(requeue_at(from, to, wake, relocate));
    }
    let mut pair = lot::lock_pair(from, to);
    look()?;
    if !mutant::active(Mutant::CompareWithoutFence) {
        // Between the caller's store and the claim of a registered wait. The lock was an RMW.
        full_fence_after_rmw();
    }
    Ok(requeue_locked(&mut pair, from, to, wake, relocate))
}

/// Under both buckets' locks, taken in the order of their addresses (ORDERING.md, R-2); a waiter is
/// counted at its new bucket before it leaves the old one.
fn requeue_locked(
    pair: &mut LockedPair<'_>,
    from: Key,
    to: Key,
    wake: usize,
    relocate: usize,
) -> Requeued {
    let woken = pair.from.choose_many(from, wake, lot::ANY);
    let mut moved = 0;
    let mut at = pair.from.first(from);
    while let Some(waiter) = at.filter(|_| moved < relocate) {
        at = pair.from.after(waiter);
        if !pair.from.waits(waiter) {
            continue;
        }
        if from != to {
            pair.move_waiter(waiter, to);
        }
        moved += 1;
    }
    Requeued { woken, moved }
}
