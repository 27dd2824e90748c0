//! `FUTEX_WAIT_BITSET`, and `futex_wait` for words that futex(2) can't express.

use super::error::Error;
use super::word::{Target, Word};
use crate::sys::clock::{Clock, Deadline};
use crate::sys::futex::futex;
use crate::sys::futex2::{self, Call, Failure};
use crate::sys::syscall::Errno;

/// How a wait on a shared word ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Woken by a wake or a requeue (futex(2): 0).
    Woken,
    /// The word didn't hold the expected value; the call didn't wait (futex(2): `EAGAIN`).
    Mismatch,
    /// The deadline passed first (futex(2): `ETIMEDOUT`).
    TimedOut,
    /// A signal handler ran (futex(2): `EINTR`). Without a deadline, only one that was installed
    /// without `SA_RESTART`.
    Interrupted,
}

/// Waits until woken, if `word` holds `expected`; without a deadline, as long as it takes.
///
/// The check and the sleep are one atomic step for every call that wakes or requeues the word. A
/// mismatch is reported even if the deadline has passed already. The word is read with `SeqCst`
/// ordering; load it with `Acquire` once the wait is over.
///
/// # Errors
/// `Os` with the kernel's errno, such as `ENOMEM`; `Unsupported` for a [`super::NumaWord`] or a
/// memory policy that the kernel doesn't know.
pub fn wait<W: Word>(
    word: &W,
    expected: W::Value,
    deadline: Option<&Deadline>,
) -> Result<Waited, Error> {
    wait_bitset(word, expected, u32::MAX, deadline)
}

/// The same for wakes whose bitset has a bit in common with `bitset`. Requeues don't look at it.
///
/// # Errors
/// As [`wait`], and `EmptyBitset`.
pub fn wait_bitset<W: Word>(
    word: &W,
    expected: W::Value,
    bitset: u32,
    deadline: Option<&Deadline>,
) -> Result<Waited, Error> {
    let (target, expected) = (word.target(), W::bits(expected));
    if bitset == 0 {
        return Err(Error::EmptyBitset);
    }
    if target.load() != expected {
        return Ok(Waited::Mismatch);
    }
    if target.is_plain() {
        return match wait_plain(&target, expected, bitset, deadline) {
            Ok(_) => Ok(Waited::Woken),
            Err(errno) => ended_by(errno).ok_or(Error::of_futex(errno)),
        };
    }
    target.settle();
    let (address, flags) = (target.address(), target.flags());
    // SAFETY: the word is borrowed meanwhile; one with a node owns the memory of its node.
    let answer = unsafe { futex2::wait(address, expected, bitset, flags, deadline) };
    ended(answer, Call::Wait, flags).map(|(waited, _)| waited)
}

fn wait_plain(
    target: &Target<'_>,
    expected: u32,
    bitset: u32,
    deadline: Option<&Deadline>,
) -> Result<usize, Errno> {
    let mut op = target.op(libc::FUTEX_WAIT_BITSET);
    if deadline.is_some_and(|deadline| deadline.clock() == Clock::Realtime) {
        op |= libc::FUTEX_CLOCK_REALTIME;
    }
    let timeout =
        deadline.map_or(0, |deadline| core::ptr::from_ref(deadline.timespec()).expose_provenance());
    // SAFETY: the word and the deadline outlive the call, which only reads them.
    unsafe { futex(target.address(), op, expected, timeout, core::ptr::null(), bitset) }
}

/// The end of a wait that `errno` stands for, if it is no failure.
fn ended_by(errno: Errno) -> Option<Waited> {
    match errno {
        Errno(libc::EAGAIN) => Some(Waited::Mismatch),
        Errno(libc::ETIMEDOUT) => Some(Waited::TimedOut),
        Errno(libc::EINTR) => Some(Waited::Interrupted),
        _ => None,
    }
}

/// How a wait by `call` on words with `flags` ended, and what the kernel returned.
pub(super) fn ended(
    answer: Result<usize, Failure>,
    call: Call,
    flags: u32,
) -> Result<(Waited, usize), Error> {
    let failure = match answer {
        Ok(returned) => return Ok((Waited::Woken, returned)),
        Err(failure) => failure,
    };
    let known = match failure {
        Failure::Errno(errno) => ended_by(errno),
        _ => None,
    };
    if let Some(waited) = known {
        return Ok((waited, 0));
    }
    Err(Error::of_futex2(call, flags, failure))
}
