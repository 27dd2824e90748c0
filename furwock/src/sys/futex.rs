//! futex(2), private words only: the parker's sleep and wake.

use super::clock::{Clock, Deadline};
use crate::prim::Sleep;
use core::sync::atomic::AtomicU32;

/// `futex(word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG [| FUTEX_CLOCK_REALTIME], expected, deadline,
/// NULL, FUTEX_BITSET_MATCH_ANY)`.
///
/// Leaves errno as it was: callers stand beneath functions that may not change it.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn wait(word: &AtomicU32, expected: u32, deadline: Option<&Deadline>) -> Sleep {
    let mut op = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    if deadline.is_some_and(|deadline| deadline.clock() == Clock::Realtime) {
        op |= libc::FUTEX_CLOCK_REALTIME;
    }
    let timeout = deadline.map_or(core::ptr::null(), |deadline| deadline.timespec() as *const _);
    let errno = Errno::save();
    // SAFETY: the word outlives the call, which reads it and, at most, the timespec.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            op,
            expected,
            timeout,
            core::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
    match result {
        -1 if errno.now() == libc::ETIMEDOUT => Sleep::TimedOut,
        _ => Sleep::Ended,
    }
}

/// `futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count)`.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn wake(word: &AtomicU32, count: i32) {
    let _errno = Errno::save();
    // SAFETY: the kernel uses the address only to find sleepers.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            count,
        );
    }
}

/// Puts errno back when dropped.
struct Errno {
    place: *mut i32,
    saved: i32,
}

impl Errno {
    fn save() -> Self {
        // SAFETY: the address of this thread's own errno is always valid to read.
        unsafe {
            let place = libc::__errno_location();
            Self { place, saved: *place }
        }
    }

    fn now(&self) -> i32 {
        // SAFETY: as in `save`; the value never leaves its thread.
        unsafe { *self.place }
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as in `save`.
        unsafe { *self.place = self.saved };
    }
}
