//! `pthread_cancel`: a thread in one of furwock's waits has to be interrupted.

use crate::{glibc, handlers};
use core::ffi::c_int;
use furwock::unstable::signals::{self, closed};
use furwock::unstable::{forget_interrupt, interrupt};

/// POSIX `pthread_cancel`.
///
/// glibc marks the thread, and wakes it from glibc's waits. furwock's interrupt wakes it from
/// furwock's; it then asks glibc, which knows the mark.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    handlers::before_cancellation();
    // SAFETY: the program's thread. Its memory isn't touched after this: it may have ended.
    let result = unsafe { glibc::pthread_cancel(thread) };
    if result == 0 {
        closed(|| interrupt(thread as usize));
    }
    result
}

/// Waits as a cancellation point does. The thread acts on a cancellation before the wait, or after
/// a wait that it `may_have_ended`, in calls whose frames have nothing to clean up: `wait` and its
/// result have nothing to drop. In between the thread is interrupted, not unwound: a thread that
/// was woken first stays woken. `wait` is told whether a cancellation may act, so that one that
/// mustn't needn't end the wait.
///
/// # Safety
/// May unwind the caller's frame.
#[inline(always)]
pub(crate) unsafe fn point<R>(
    wait: impl FnOnce(bool) -> R,
    may_have_ended: impl FnOnce(&R) -> bool,
) -> R {
    const { assert!(!core::mem::needs_drop::<R>()) };
    let (mut kind, mut state) = (glibc::PTHREAD_CANCEL_DEFERRED, glibc::PTHREAD_CANCEL_DISABLE);
    // SAFETY: by this function's contract. Asynchronous cancellation must not unwind a thread that
    // stands in a queue, and nothing else may: also not a signal handler that comes to a
    // cancellation point of its own. (glibc 2.36 forgets the thread's result if it is enabling the
    // state that makes it act on a cancellation of the asynchronous type.)
    unsafe {
        glibc::pthread_setcanceltype(glibc::PTHREAD_CANCEL_DEFERRED, &mut kind);
        // (A handler's wait inside another that may be interrupted: the interrupt is that one's.)
        if signals::noted() == 0 {
            closed(forget_interrupt);
        }
        glibc::pthread_testcancel();
        glibc::pthread_setcancelstate(glibc::PTHREAD_CANCEL_DISABLE, &mut state);
    }
    let noted = note(kind, state);
    let ended = wait(state != glibc::PTHREAD_CANCEL_DISABLE);
    if noted {
        signals::note(0);
    }
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

/// What `point` has changed, and an address in its frame, for a handler that jumps out of the wait.
const WAS_DISABLED: usize = 1;
const WAS_ASYNCHRONOUS: usize = 2;
const FRAME: usize = !7;

/// Notes the change, unless an outer wait of the thread has noted one: the outer note counts.
/// Returns whether it noted the change.
#[inline(always)]
fn note(kind: c_int, state: c_int) -> bool {
    let here = 0_u64;
    let is_first = signals::noted() == 0;
    if is_first {
        let mut note = core::ptr::from_ref(&here).addr() & FRAME;
        if state == glibc::PTHREAD_CANCEL_DISABLE {
            note |= WAS_DISABLED;
        }
        if kind == glibc::PTHREAD_CANCEL_ASYNCHRONOUS {
            note |= WAS_ASYNCHRONOUS;
        }
        signals::note(note);
    }
    is_first
}

/// Restores what `point` changed, for a jump that leaves it, which `is_left` decides by an address
/// in its frame.
///
/// # Safety
/// May unwind the caller's frame.
pub(crate) unsafe fn put_back(is_left: impl Fn(usize) -> bool) {
    let note = signals::noted();
    if note == 0 || !is_left(note & FRAME) {
        return;
    }
    signals::note(0);
    let mut before = 0;
    // SAFETY: by this function's contract.
    unsafe {
        if note & WAS_DISABLED == 0 {
            glibc::pthread_setcancelstate(glibc::PTHREAD_CANCEL_ENABLE, &mut before);
        }
        if note & WAS_ASYNCHRONOUS != 0 {
            glibc::pthread_setcanceltype(glibc::PTHREAD_CANCEL_ASYNCHRONOUS, &mut before);
        }
    }
}
