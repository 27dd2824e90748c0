//! A yield before a sleep, where all threads share one processor.
//!
//! A thread that waits for another's answer sleeps, and the other wakes it: two calls of the
//! kernel. On the only processor a waiter may yield instead. Then others run, answer, wait in
//! their turn and yield: one call each, and nobody has to be woken. A thread that yields goes to
//! the end of the processor's queue; by the time that it runs again, each of those before it has
//! done what it could.
//!
//! A waiter yields once, and sleeps if that was in vain. Not where it has a deadline: a yield may
//! last longer.

use super::balance::Balance;
use super::{pays_by, yield_by};
use crate::lot;

/// Yields once, if that pays by the `balance` of this kind of waits, and then asks whether what the
/// caller waits for `has_come`. Returns whether it has.
///
/// As a rule the caller has no role, and no place in a queue, so that nothing relies on it. One
/// that waits at a condvar is queued: if it is chosen meanwhile, and may be given the mutex, it has
/// to get the processor first, as a woken thread has. (Of threads that compute, one that yields may
/// wait for more than one that slept; if such waits are long, no yields are made.)
pub(crate) fn once(balance: &Balance, has_come: impl FnOnce() -> bool) -> bool {
    lot::is_single()
        && pays_by(balance)
        && yield_by(balance, has_come).is_some_and(|(has_come, _)| has_come)
}
