//! Waiting on one word.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::word::{self, Sized, Word, by_size};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use engine::futex::{self, Waited};
use libc::{EAGAIN, EINVAL, ETIMEDOUT};

/// Waits until woken, if the 8-bit word holds `expected`.
///
/// Returns 0 when woken (rarely a wake is spurious: look at the word again); EAGAIN if the word
/// holds another value; ETIMEDOUT; EINVAL for a word that is NULL or not aligned, or a malformed
/// deadline. Signals don't end the wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait8(
    word: *const Word,
    expected: u8,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    unsafe { wait::<AtomicU8>(word, expected, until) }
}

/// furwock_wait8 for a word of 16 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait16(
    word: *const Word,
    expected: u16,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    unsafe { wait::<AtomicU16>(word, expected, until) }
}

/// furwock_wait8 for a word of 32 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait32(
    word: *const Word,
    expected: u32,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    unsafe { wait::<AtomicU32>(word, expected, until) }
}

/// furwock_wait8 for a word of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait64(
    word: *const Word,
    expected: u64,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    unsafe { wait::<AtomicU64>(word, expected, until) }
}

/// furwock_wait8 for a pointer: `word` is the pointer's own address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait_pointer(
    word: *const Word,
    expected: *const Word,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    unsafe { wait::<AtomicPtr<c_void>>(word, expected.cast_mut(), until) }
}

/// furwock_wait8 for a word of `size` bytes (1, 2, 4 or 8) and for wakes that have a bit in common
/// with `bitset`. Wakes without a bitset match every waiter. Also returns EINVAL for any other
/// size, a value that doesn't fit in it, and a bitset of 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait_bitset(
    word: *const Word,
    size: usize,
    expected: u64,
    bitset: u32,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    errno_of(unsafe { by_size!(size, wait_bitset(word, expected, bitset, until)) })
}

/// # Safety
/// `word` and `until` are the caller's: null, or there.
#[inline]
unsafe fn wait<A: futex::Word + 'static>(
    word: *const Word,
    expected: A::Value,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: by this function's contract.
    let arguments = unsafe { word::at::<A>(word).and_then(|word| Ok((word, deadline(until)?))) };
    match arguments {
        Ok((word, until)) => errno_of(ended(futex::wait(word, expected, until.as_ref()))),
        Err(errno) => errno,
    }
}

/// # Safety
/// As for [`wait`].
unsafe fn wait_bitset<A: Sized>(
    word: *const Word,
    expected: u64,
    bitset: u32,
    until: *const furwock_deadline,
) -> Result<(), c_int> {
    // SAFETY: by this function's contract.
    let (word, until) = unsafe { (word::at::<A>(word)?, deadline(until)?) };
    let expected = word::narrow::<A>(expected)?;
    if bitset == 0 {
        return Err(EINVAL);
    }
    ended(futex::wait_bitset(word, expected, until.as_ref(), bitset))
}

#[inline]
fn ended(how: Waited) -> Result<(), c_int> {
    match how {
        Waited::Woken => Ok(()),
        Waited::Mismatch => Err(EAGAIN),
        Waited::TimedOut => Err(ETIMEDOUT),
    }
}
