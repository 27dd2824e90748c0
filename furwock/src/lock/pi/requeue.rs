//! Waiting on a word to be moved to a PI mutex, and moving: the kernel's pair of operations.

use super::{Acquired, PiError, RawPiMutex};
use crate::prim::atomic::AtomicU32;
use crate::prim::pi as kernel;
use crate::sys::clock::Deadline;
use crate::sys::syscall::Errno;

/// Waits while `word` holds `expected`, until [`compare_requeue`] moves the caller to `mutex` and
/// the mutex becomes the caller's. The caller must not hold it.
///
/// `Ok`: the caller owns `mutex`. Any error: it doesn't. These are
/// - `Mismatch`: the word held another value, or a signal handler ran after the caller had been
///   moved. Callers that count moves must count this as one;
/// - `TimedOut`: the deadline passed, before or after the caller was moved;
/// - `Corrupt`, `Deadlock`, `OwnerGone`, `NoMemory`, `Unsupported` (before Linux 2.6.31).
///
/// A handler that runs before the caller has been moved doesn't end the wait. Nothing but
/// `compare_requeue` wakes a thread that waits here: not even the kernel's `FUTEX_WAKE`. `word`
/// must be in the mutex's scope. The word is compared and the caller queued as one step for every
/// `compare_requeue` on it.
pub fn wait_requeue(
    word: &AtomicU32,
    expected: u32,
    mutex: &RawPiMutex,
    deadline: Option<&Deadline>,
) -> Result<Acquired, PiError> {
    match kernel::wait_requeue(word, expected, mutex.word(), mutex.scope(), deadline) {
        Ok(()) => Ok(mutex.given()),
        Err(Errno(libc::EINTR)) => Err(PiError::Mismatch),
        Err(errno) => Err(PiError::of(errno, "FUTEX_WAIT_REQUEUE_PI", "Linux 2.6.31")),
    }
}

/// Moves the first of the threads that wait on `word` in [`wait_requeue`], by priority and then by
/// time, to `mutex`, and up to `others` more behind it, if the word holds `expected`. Returns how
/// many.
///
/// If the mutex is free the first gets it at once and is woken; no other thread is woken. All must
/// wait to be moved to this `mutex`: at one that doesn't, the call ends with `Corrupt`, and may
/// have moved those before. Other errors: `Mismatch`, `Deadlock` (a waiter holds what the mutex's
/// owner waits for), `OwnerGone`, `NoMemory`, `Unsupported` (before Linux 2.6.31).
pub fn compare_requeue(
    word: &AtomicU32,
    expected: u32,
    others: u32,
    mutex: &RawPiMutex,
) -> Result<usize, PiError> {
    let address = mutex.word().as_ptr().expose_provenance();
    loop {
        match kernel::compare_requeue(word, expected, others, address, mutex.scope()) {
            Ok(moved) => return Ok(moved),
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(PiError::of(errno, "FUTEX_CMP_REQUEUE_PI", "Linux 2.6.31")),
        }
    }
}
