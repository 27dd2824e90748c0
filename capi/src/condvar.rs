//! The condition variable that requeues.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::mutex::{furwock_mutex, raw};
use crate::word;
use core::ffi::c_int;
use engine::lock::{Outcome, RawCondvar};
use libc::{EPERM, ETIMEDOUT};

/// A condition variable of four bytes, whose broadcast to several waiters moves them to the mutex
/// instead of waking them to block on it. FURWOCK_CONDVAR_INIT, or zero bytes, make one; it needs
/// no clean-up.
///
/// All threads that wait at the same time should use the same mutex.
#[repr(C)]
pub struct furwock_condvar {
    /// furwock's own. 0 when no thread waits.
    pub word: u32,
}

/// Initialises a condition variable without waiters, as FURWOCK_CONDVAR_INIT does, whatever the
/// memory held before. Returns 0, or EINVAL for one that is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_condvar_init(condvar: *mut furwock_condvar) -> c_int {
    // SAFETY: the caller's memory, which a raw condvar fits.
    unsafe { word::initialise(condvar.cast(), || Ok(RawCondvar::new())) }
}

/// Releases the mutex, waits for a signal, and locks the mutex again. As with every condition
/// variable, a wakeup may be spurious: check the condition again.
///
/// Returns 0; EPERM if no thread holds the mutex; EINVAL for an object that is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_condvar_wait(
    condvar: *mut furwock_condvar,
    mutex: *mut furwock_mutex,
) -> c_int {
    // SAFETY: the caller's objects.
    unsafe { furwock_condvar_wait_until(condvar, mutex, core::ptr::null()) }
}

/// furwock_condvar_wait with a deadline. Returns ETIMEDOUT, with the mutex locked again, if the
/// deadline passed before a signal chose the caller.
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

/// Wakes one waiter, the one that has waited longest, if there is one. Returns 0 or EINVAL.
///
/// The caller holds the mutex, or has held it since it changed the condition.
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
pub(crate) unsafe fn own<'c>(condvar: *mut furwock_condvar) -> Result<&'c RawCondvar, c_int> {
    // SAFETY: by this function's contract; a raw condvar is its word.
    unsafe { word::at(condvar.cast_const().cast()) }
}
