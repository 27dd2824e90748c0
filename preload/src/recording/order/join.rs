//! `pthread_join`, which is glibc's: the thread waits for another, maybe with locks held.

use super::super::Kind;
use super::{orders, wakes};
use crate::glibc;
use core::ffi::{c_int, c_void};
use libc::pthread_t;

/// POSIX `pthread_join`. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    if !orders() {
        // SAFETY: the program's thread.
        return unsafe { glibc::pthread_join(thread, result) };
    }
    let object = core::ptr::without_provenance::<u8>(thread as usize);
    wakes::waits_for(object, Kind::Thread, 0, false);
    // SAFETY: the program's thread.
    let joined = unsafe { glibc::pthread_join(thread, result) };
    if joined == 0 {
        wakes::joined(thread as usize);
    }
    joined
}
