//! The condition variable that requeues.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::mutex::{furwock_mutex, raw};
use crate::word;
use core::ffi::c_int;
use engine::lock::{Outcome, RawCondvar};
use libc::{EPERM, ETIMEDOUT};

/// A condition variable of four bytes whose waiters are moved to the mutex instead of being woken to
/// block on it. FURWOCK_CONDVAR_INIT, or zero bytes, make one; it needs no clean-up.
///
/// All who wait at the same time should wait with the same mutex.
#[repr(C)]
pub struct furwock_condvar {
    /// furwock's own. 0 when nobody waits.
    pub word: u32,
}

/// Releases the mutex, waits for a signal, and locks the mutex again. As with every condition
/// variable the wait may end for no reason: look at the condition again.
///
/// 0; EPERM if nobody holds the mutex; EINVAL for what is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_condvar_wait(
    condvar: *mut furwock_condvar,
    mutex: *mut furwock_mutex,
) -> c_int {
    // SAFETY: the caller's objects.
    unsafe { furwock_condvar_wait_until(condvar, mutex, core::ptr::null()) }
}

/// furwock_condvar_wait that gives up at the deadline: ETIMEDOUT, with the mutex locked again. Only
/// if no signal had chosen the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_condvar_wait_until(
    condvar: *mut furwock_condvar,
    mutex: *mut furwock_mutex,
    until: *const furwock_deadline,
) -> c_int {
    /// # Safety
    /// The objects are null, or there.
    unsafe fn wait(
        condvar: *mut furwock_condvar,
        mutex: *mut furwock_mutex,
        until: *const furwock_deadline,
    ) -> Result<(), c_int> {
        // SAFETY: by this function's contract.
        let (condvar, mutex, until) = unsafe { (own(condvar)?, raw(mutex)?, deadline(until)?) };
        if !mutex.is_locked() {
            return Err(EPERM);
        }
        match condvar.wait(mutex, until.as_ref()) {
            Outcome::TimedOut => Err(ETIMEDOUT),
            _ => Ok(()),
        }
    }
    // SAFETY: the caller's objects.
    errno_of(unsafe { wait(condvar, mutex, until) })
}

/// Lets one waiter go on, the one that has waited longest, if there is one. 0 or EINVAL.
///
/// The caller holds the mutex, or has held it since it changed what the waiter waits for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_condvar_signal(condvar: *mut furwock_condvar) -> c_int {
    // SAFETY: the caller's condvar.
    errno_of(unsafe { own(condvar) }.map(|condvar| {
        condvar.notify_one();
    }))
}

/// furwock_condvar_signal for all waiters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_condvar_broadcast(condvar: *mut furwock_condvar) -> c_int {
    // SAFETY: the caller's condvar.
    errno_of(unsafe { own(condvar) }.map(|condvar| {
        condvar.notify_all();
    }))
}

const _: () = assert!(size_of::<furwock_condvar>() == size_of::<RawCondvar>());

/// # Safety
/// The condvar is null, or there.
#[inline]
unsafe fn own<'c>(condvar: *mut furwock_condvar) -> Result<&'c RawCondvar, c_int> {
    // SAFETY: by this function's contract; a raw condvar is its word.
    unsafe { word::at(condvar.cast_const().cast()) }
}
