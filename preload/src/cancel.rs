//! `pthread_cancel`: a thread in a wait of furwock's has to hear of it.

use crate::glibc;
use core::ffi::c_int;
use furwock::lock;

/// POSIX `pthread_cancel`.
///
/// glibc marks the thread, and wakes it from its own waits. From furwock's the interrupt wakes it;
/// it then asks glibc, which knows of the mark.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    // SAFETY: the program's thread. Its memory isn't touched after this: it may have ended.
    let result = unsafe { glibc::pthread_cancel(thread) };
    if result == 0 {
        lock::interrupt(thread as usize);
    }
    result
}

/// Waits as a cancellation point does. A cancellation is acted upon before the wait, or after one that it
/// `may_have_ended`, by calls whose frames have nothing to clean up: `wait` and what it returns have
/// nothing to drop. In between the thread is interrupted, not unwound: who was woken first stays woken.
///
/// # Safety
/// May unwind the caller's frame.
pub(crate) unsafe fn point<R>(
    wait: impl FnOnce() -> R,
    may_have_ended: impl FnOnce(&R) -> bool,
) -> R {
    const { assert!(!core::mem::needs_drop::<R>()) };
    let (mut kind, mut state) = (glibc::PTHREAD_CANCEL_DEFERRED, glibc::PTHREAD_CANCEL_DISABLE);
    // SAFETY: by this function's contract. Asynchronous cancellation must not unwind a thread that
    // stands in a queue, and nothing else may: also not a signal handler that comes to a cancellation
    // point of its own. (glibc 2.36 forgets the thread's result if it is enabling the state that makes it
    // act on a cancellation of the asynchronous type.)
    unsafe {
        glibc::pthread_setcanceltype(glibc::PTHREAD_CANCEL_DEFERRED, &mut kind);
        lock::forget_interrupt();
        glibc::pthread_testcancel();
        glibc::pthread_setcancelstate(glibc::PTHREAD_CANCEL_DISABLE, &mut state);
    }
    let ended = wait();
    // SAFETY: as above.
    unsafe {
        glibc::pthread_setcancelstate(state, &mut state);
        if may_have_ended(&ended) {
            glibc::pthread_testcancel();
        }
        if kind != glibc::PTHREAD_CANCEL_DEFERRED {
            // Acts at once on a cancellation that came meanwhile.
            glibc::pthread_setcanceltype(kind, &mut kind);
        }
    }
    ended
}
