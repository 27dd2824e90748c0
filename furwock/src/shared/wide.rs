//! Words of 64 bits, by `futex_waitv` over their halves. Why no wake is lost: ORDERING.md, S-1.

use super::error::Error;
use super::wait::{Waited, ended};
use super::wake::wake_target;
use super::word::{Target64, Word64};
use crate::sys::clock::Deadline;
use crate::sys::futex2::{self, Call, Waitv};

/// Waits until woken by [`wake64`], if `word` holds `expected`; without a deadline, as long as it
/// takes.
///
/// A mismatch is reported even if the deadline has passed already, and needs no system call. The
/// word is read with `SeqCst` ordering; load it with `Acquire` once the wait is over.
///
/// The halves are checked one after the other. So a wait whose word changes just then may be woken
/// although the word never held `expected` in full: `Woken` only means that one wake was used up.
/// Look at the word again. A mismatch never hides a wake.
///
/// # Errors
/// `Unsupported` on kernels before 5.16, or before 6.16 with a memory policy; `Os` with the
/// kernel's errno.
pub fn wait64<W: Word64>(
    word: &W,
    expected: W::Value,
    deadline: Option<&Deadline>,
) -> Result<Waited, Error> {
    let (target, expected) = (word.target(), W::bits(expected));
    if target.load() != expected {
        return Ok(Waited::Mismatch);
    }
    let vector = vector(&target, expected);
    // SAFETY: the word is borrowed meanwhile, and has no node.
    let answer = unsafe { futex2::waitv(&vector, deadline) };
    ended(answer, Call::Waitv, vector[0].flags).map(|(waited, _half)| waited)
}

/// Wakes up to `count` waiters of `word` in [`wait64`], in any process. Returns how many.
///
/// Change the word first, all of it in one store. This is a plain wake, which every kernel has.
///
/// # Errors
/// As [`super::wake`].
pub fn wake64<W: Word64>(word: &W, count: usize) -> Result<usize, Error> {
    wake_target(&word.target().halves()[0], count, u32::MAX)
}

/// The halves, in the order of their addresses: wakes go to the half that is queued first.
fn vector(target: &Target64<'_>, expected: u64) -> [Waitv; 2] {
    let ([a, b], [first, second]) = (target.halves(), halves_of(expected));
    [Waitv::new(a.address(), first, a.flags()), Waitv::new(b.address(), second, b.flags())]
}

/// The halves of a value in the order of their addresses.
fn halves_of(value: u64) -> [u32; 2] {
    let (low, high) = (value as u32, (value >> 32) as u32);
    if cfg!(target_endian = "little") { [low, high] } else { [high, low] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU64;

    #[test]
    fn half_a_is_queued_first() {
        let halves = [0x0102_0304u32, 0x0506_0708];
        // SAFETY: of the same size, and any bits will do.
        let value: u64 = unsafe { core::mem::transmute(halves) };
        let word = AtomicU64::new(value);
        let address = core::ptr::from_ref(&word).expose_provenance() as u64;
        let vector = vector(&word.target(), value);
        assert_eq!(vector.map(|half| half.uaddr), [address, address + 4]);
        assert_eq!(vector.map(|half| half.val), halves.map(u64::from));
    }
}
