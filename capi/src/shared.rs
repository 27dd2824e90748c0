//! Words in memory that several processes map.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::word::{self, Word};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64};
use engine::shared::{self, Error, Waited};
use libc::{EAGAIN, EINVAL, ENOSYS, ENOTSUP, ETIMEDOUT};

/// Waits until woken by furwock_shared_wake, if the 32-bit word holds `expected`. The word may lie
/// in memory that several processes map, at different addresses too.
///
/// Returns 0 when woken, also for no reason, as after a signal: look at the word again. EAGAIN if
/// the word holds another value; ETIMEDOUT; EINVAL for a word that is NULL or not aligned, or a
/// malformed deadline; or the kernel's error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_shared_wait32(
    word: *const Word,
    expected: u32,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    let arguments = unsafe { word::at(word).and_then(|word| Ok((word, deadline(until)?))) };
    errno_of(arguments.and_then(|(word, until): (&AtomicU32, _)| {
        ended(shared::wait(word, expected, until.as_ref()))
    }))
}

/// furwock_shared_wait32 for a word of 64 bits. Needs Linux 5.16: ENOTSUP before.
///
/// Each change of the word has to be one store of all 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_shared_wait64(
    word: *const Word,
    expected: u64,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's word and deadline.
    let arguments = unsafe { word::at(word).and_then(|word| Ok((word, deadline(until)?))) };
    errno_of(arguments.and_then(|(word, until): (&AtomicU64, _)| {
        ended(shared::wait64(word, expected, until.as_ref()))
    }))
}

/// Wakes up to `count` threads, of any process, that wait in furwock_shared_wait32 or
/// furwock_shared_wait64 for this word. Stores how many in `*woken`, unless that is NULL.
///
/// Change the word first. SIZE_MAX wakes all. Returns 0, EINVAL for a word that is NULL or not
/// aligned, or the kernel's error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_shared_wake(
    word: *const Word,
    count: usize,
    woken: *mut usize,
) -> c_int {
    /// # Safety
    /// The word is null, or there.
    unsafe fn wake(word: *const Word, count: usize) -> Result<usize, c_int> {
        // SAFETY: by this function's contract. A word of 64 bits is woken at its first half, which
        // is at the same address.
        let word: &AtomicU32 = unsafe { word::at(word) }?;
        shared::wake(word, count).map_err(|error| number_of(&error))
    }
    // SAFETY: the caller's word, and its place for the answer.
    unsafe {
        errno_of(wake(word, count).map(|count| {
            if !woken.is_null() {
                woken.write(count);
            }
        }))
    }
}

fn ended(how: Result<Waited, Error>) -> Result<(), c_int> {
    match how {
        Ok(Waited::Woken | Waited::Interrupted) => Ok(()),
        Ok(Waited::Mismatch) => Err(EAGAIN),
        Ok(Waited::TimedOut) => Err(ETIMEDOUT),
        Err(error) => Err(number_of(&error)),
    }
}

fn number_of(error: &Error) -> c_int {
    match error.errno() {
        ENOSYS => ENOTSUP,
        // Not a number that says that the caller need only try again.
        EAGAIN => EINVAL,
        errno => errno,
    }
}
