//! `pthread_cancel`: a thread in a wait of furwock's has to hear of it.

use crate::glibc;
use core::ffi::c_int;

/// POSIX `pthread_cancel`.
///
/// glibc marks the thread, and wakes it from its own waits. From furwock's the interrupt wakes it;
/// it then asks glibc, which knows of the mark.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    // SAFETY: the program's thread. Its memory isn't touched after this: it may have ended.
    let result = unsafe { glibc::pthread_cancel(thread) };
    if result == 0 {
        furwock::lock::interrupt(thread as usize);
    }
    result
}
