//! Waking and requeueing.

use crate::deadline::errno_of;
use crate::word::{self, Sized, Word, by_size};
use core::ffi::c_int;
use core::sync::atomic::AtomicU8;
use engine::futex::{self, Requeued};
use libc::EAGAIN;

/// Wakes up to `count` waiters of `word`, which may have any width; those that have waited longest
/// come first. Returns how many it woke.
///
/// Change the word first. This call doesn't read it, and the word need not exist any more. SIZE_MAX
/// wakes all.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_wake(word: *const Word, count: usize) -> usize {
    furwock_wake_bitset(word, count, u32::MAX)
}

/// furwock_wake for waiters whose bitset has a bit in common with `bitset`. Waiters without a
/// bitset have all bits.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_wake_bitset(word: *const Word, count: usize, bitset: u32) -> usize {
    futex::wake_address(word.cast(), count, bitset)
}

/// What a requeue did.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct furwock_requeued {
    /// Waiters woken.
    pub woken: usize,
    /// Waiters moved to the other word.
    pub moved: usize,
}

/// Wakes up to `wake` waiters of `from`, and moves up to `move` of the others to the end of the
/// queue of `to`. Stores how many in `*done`, unless that is NULL.
///
/// A moved waiter keeps its deadline and waits until `to` is woken. Returns 0, or EINVAL for a word
/// that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_requeue(
    from: *const Word,
    to: *const Word,
    wake: usize,
    r#move: usize,
    done: *mut furwock_requeued,
) -> c_int {
    /// # Safety
    /// The words are the caller's: null, or there.
    unsafe fn checked(
        from: *const Word,
        to: *const Word,
        wake: usize,
        relocate: usize,
    ) -> Result<Requeued, c_int> {
        // SAFETY: by this function's contract. Only their addresses are used.
        let (from, to) = unsafe { (word::at::<AtomicU8>(from)?, word::at::<AtomicU8>(to)?) };
        Ok(futex::requeue(from, to, wake, relocate))
    }
    // SAFETY: the caller's words, and its place for the answer.
    unsafe { answer(checked(from, to, wake, r#move), done) }
}

/// furwock_requeue, provided that `from`, a word of `size` bytes (1, 2, 4 or 8), holds `expected`.
///
/// The check and the requeue are one atomic step for other calls on `from`. Returns EAGAIN if it
/// holds another value: then no waiter was woken or moved. Also returns EINVAL for a word that is
/// not aligned, any other size, and a value that doesn't fit in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_compare_requeue(
    from: *const Word,
    size: usize,
    expected: u64,
    to: *const Word,
    wake: usize,
    r#move: usize,
    done: *mut furwock_requeued,
) -> c_int {
    // SAFETY: the caller's words, and its place for the answer.
    unsafe {
        let requeued = by_size!(size, compare_requeue(from, expected, to, wake, r#move));
        answer(requeued, done)
    }
}

/// # Safety
/// The words are the caller's: null, or there.
unsafe fn compare_requeue<A: Sized>(
    from: *const Word,
    expected: u64,
    to: *const Word,
    wake: usize,
    relocate: usize,
) -> Result<Requeued, c_int> {
    // SAFETY: by this function's contract.
    let (from, to) = unsafe { (word::at::<A>(from)?, word::at::<AtomicU8>(to)?) };
    let expected = word::narrow::<A>(expected)?;
    futex::compare_requeue(from, expected, to, wake, relocate).map_err(|_mismatch| EAGAIN)
}

/// # Safety
/// `done` is NULL or may be written to.
unsafe fn answer(requeued: Result<Requeued, c_int>, done: *mut furwock_requeued) -> c_int {
    errno_of(requeued.map(|Requeued { woken, moved }| {
        if !done.is_null() {
            // SAFETY: by this function's contract.
            unsafe { done.write(furwock_requeued { woken, moved }) };
        }
    }))
}
