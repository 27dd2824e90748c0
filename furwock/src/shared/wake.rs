//! `FUTEX_WAKE_BITSET`, and `futex_wake` for words that futex(2) can't express.

use super::clamp;
use super::error::Error;
use super::word::{Target, Word};
use crate::sys::futex::futex;
use crate::sys::futex2::{self, Call};

/// Wakes up to `count` waiters of `word`, in any process. Returns how many.
///
/// Change the word first.
///
/// # Errors
/// `Os` with the kernel's errno; `Unsupported` for a [`super::NumaWord`] or a memory policy that
/// the kernel doesn't know.
pub fn wake<W: Word>(word: &W, count: usize) -> Result<usize, Error> {
    wake_target(&word.target(), count, u32::MAX)
}

/// Wakes all waiters of `word`. Returns how many.
///
/// # Errors
/// As [`wake`].
pub fn wake_all<W: Word>(word: &W) -> Result<usize, Error> {
    wake(word, usize::MAX)
}

/// Wakes up to `count` waiters whose bitset has a bit in common with `bitset`. Returns how many.
/// Waiters without a bitset have all bits.
///
/// # Errors
/// As [`wake`], and `EmptyBitset`.
pub fn wake_bitset<W: Word>(word: &W, count: usize, bitset: u32) -> Result<usize, Error> {
    if bitset == 0 {
        return Err(Error::EmptyBitset);
    }
    wake_target(&word.target(), count, bitset)
}

pub(super) fn wake_target(target: &Target<'_>, count: usize, bitset: u32) -> Result<usize, Error> {
    if count == 0 {
        // futex(2) would wake one.
        return Ok(0);
    }
    let count = clamp(count);
    if target.is_plain() {
        let op = target.op(libc::FUTEX_WAKE_BITSET);
        // SAFETY: the kernel uses the address only to find waiters.
        let answer = unsafe { futex(target.address(), op, count, 0, core::ptr::null(), bitset) };
        return answer.map_err(Error::of_futex);
    }
    target.settle();
    let flags = target.flags();
    // SAFETY: the word is borrowed meanwhile; one with a node owns the memory of its node.
    let answer = unsafe { futex2::wake(target.address(), bitset, count, flags) };
    answer.map_err(|failure| Error::of_futex2(Call::Wake, flags, failure))
}
