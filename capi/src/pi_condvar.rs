//! The condition variable with priority inheritance.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::pi_mutex::{self, furwock_pi_mutex, number_of};
use crate::word;
use core::ffi::c_int;
use engine::lock::Outcome;
use engine::lock::pi::{Acquired, PiError, RawPiCondvar};
use libc::{EOWNERDEAD, EPERM, ETIMEDOUT};

/// A condition variable for furwock_pi_mutex: a signal moves waiters to the mutex, whose owner runs
/// at their priority from then on. FURWOCK_PI_CONDVAR_INIT, or zero bytes, make one; it needs no
/// clean-up.
///
/// Threads that wait at the same time have to use the same mutex. Processes may share it with that
/// mutex if both lie in one mapping. Its memory may be freed once every wait has returned.
#[repr(C)]
pub struct furwock_pi_condvar {
    /// furwock's own.
    pub own: [u64; 4],
}

/// Initialises a condition variable without waiters. Returns 0, or EINVAL for one that is NULL or
/// not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_condvar_init(condvar: *mut furwock_pi_condvar) -> c_int {
    // SAFETY: the caller's memory.
    unsafe { word::initialise(condvar, || Ok(furwock_pi_condvar { own: [0; 4] })) }
}

/// Releases the mutex, waits for a signal, and locks the mutex again. A wakeup may be spurious:
/// check the condition again.
///
/// With the mutex held: 0; EOWNERDEAD, as furwock_pi_mutex_lock. With the mutex as it was: EPERM if
/// the caller doesn't hold it; EINVAL if other threads wait with another mutex, and for an object
/// that is NULL or not aligned. With the mutex released: ENOTRECOVERABLE; EDEADLK; ENOTSUP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_condvar_wait(
    condvar: *mut furwock_pi_condvar,
    mutex: *mut furwock_pi_mutex,
) -> c_int {
    // SAFETY: the caller's objects.
    unsafe { furwock_pi_condvar_wait_until(condvar, mutex, core::ptr::null()) }
}

/// furwock_pi_condvar_wait with a deadline, on either clock. Returns ETIMEDOUT, with the mutex
/// locked again, if the deadline passed before a signal chose the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_condvar_wait_until(
    condvar: *mut furwock_pi_condvar,
    mutex: *mut furwock_pi_mutex,
    until: *const furwock_deadline,
) -> c_int {
    /// # Safety
    /// The objects are null, or there.
    unsafe fn wait(
        condvar: *mut furwock_pi_condvar,
        mutex: *mut furwock_pi_mutex,
        until: *const furwock_deadline,
    ) -> Result<(), c_int> {
        // SAFETY: by this function's contract.
        let (condvar, mutex, until) =
            unsafe { (own(condvar)?, pi_mutex::raw(mutex)?, deadline(until)?) };
        if mutex.owner() != engine::lock::thread_id() {
            return Err(EPERM);
        }
        match condvar.wait(mutex, until.as_ref()) {
            Ok(waited) if waited.acquired == Acquired::OwnerDied => Err(EOWNERDEAD),
            Ok(waited) if waited.outcome == Outcome::TimedOut => Err(ETIMEDOUT),
            Ok(_) => Ok(()),
            Err(error @ PiError::OtherMutex) => {
                // The engine has released it; in C the mutex is as it was after such an error.
                mutex.lock().map_err(number_of)?;
                Err(number_of(error))
            }
            Err(error) => Err(number_of(error)),
        }
    }
    // SAFETY: the caller's objects.
    errno_of(unsafe { wait(condvar, mutex, until) })
}

/// Wakes one waiter, that of the highest priority, if there is one. Returns 0; EINVAL; or an error
/// of furwock_pi_mutex_lock if the kernel can't move waiters to the mutex: then they wait on.
///
/// The caller holds the mutex, or has held it since it changed the condition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_condvar_signal(condvar: *mut furwock_pi_condvar) -> c_int {
    // SAFETY: the caller's condvar.
    errno_of(unsafe { own(condvar) }.and_then(|condvar| {
        condvar.notify_one().map_err(number_of)?;
        Ok(())
    }))
}

/// furwock_pi_condvar_signal for all waiters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_condvar_broadcast(condvar: *mut furwock_pi_condvar) -> c_int {
    // SAFETY: the caller's condvar.
    errno_of(unsafe { own(condvar) }.and_then(|condvar| {
        condvar.notify_all().map_err(number_of)?;
        Ok(())
    }))
}

const _: () = assert!(size_of::<furwock_pi_condvar>() >= size_of::<RawPiCondvar>());
const _: () = assert!(align_of::<furwock_pi_condvar>() >= align_of::<RawPiCondvar>());

/// # Safety
/// The condvar is null, or there.
unsafe fn own<'c>(condvar: *mut furwock_pi_condvar) -> Result<&'c RawPiCondvar, c_int> {
    // SAFETY: by this function's contract; zero bytes are a raw PI condvar.
    unsafe { word::at(condvar.cast_const().cast()) }
}
