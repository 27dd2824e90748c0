//! The throughput-optimized mutex.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::word;
use core::ffi::c_int;
use engine::lock::RawMutex;
use libc::{EBUSY, EINVAL, ETIMEDOUT, pid_t};

/// A mutex of four bytes for throughput: a running thread may take it past the queue, one waiter
/// spins, the others sleep, and none is passed by for long. FURWOCK_MUTEX_INIT, or zero bytes, make
/// one that is free; it needs no clean-up.
///
/// Not recursive, for threads of one process. Its memory may be freed as soon as it has been
/// unlocked for the last time, even while that unlock is still returning in another thread.
#[repr(C)]
pub struct furwock_mutex {
    /// furwock's own. 0 when free.
    pub word: u32,
}

/// Takes the lock, waiting as long as it takes. 0, or EINVAL for a mutex that is NULL or not
/// aligned. A thread that locks what it holds waits for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_lock(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    errno_of(unsafe { raw(mutex) }.map(RawMutex::lock))
}

/// Takes the lock if that is possible without waiting. 0, EBUSY or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_trylock(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    errno_of(unsafe { raw(mutex) }.and_then(|raw| raw.try_lock().then_some(()).ok_or(EBUSY)))
}

/// Takes the lock, or gives up at the deadline: 0, ETIMEDOUT, or EINVAL, also for a malformed
/// deadline. A free lock is taken whether or not the deadline has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_lock_until(
    mutex: *mut furwock_mutex,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's mutex and deadline.
    let arguments = unsafe { raw(mutex).and_then(|raw| Ok((raw, deadline(until)?))) };
    errno_of(arguments.and_then(|(raw, until)| match until {
        Some(until) => raw.lock_until(&until).then_some(()).ok_or(ETIMEDOUT),
        None => {
            raw.lock();
            Ok(())
        }
    }))
}

/// Releases the lock. 0 or EINVAL. Who unlocks what another thread holds releases it all the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_unlock(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    errno_of(unsafe { raw(mutex) }.map(RawMutex::unlock))
}

/// The kernel's id of the thread that holds it, 0 if nobody does. Out of date at once, unless it is
/// the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_owner(mutex: *const furwock_mutex) -> pid_t {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.map_or(0, |raw| raw.owner() as pid_t)
}

/// Whether somebody holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_is_locked(mutex: *const furwock_mutex) -> bool {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.is_ok_and(RawMutex::is_locked)
}

const _: () = assert!(size_of::<furwock_mutex>() == size_of::<RawMutex>());

/// # Safety
/// The mutex is null, or there.
#[inline]
pub(crate) unsafe fn raw<'m>(mutex: *const furwock_mutex) -> Result<&'m RawMutex, c_int> {
    // SAFETY: by this function's contract; a raw mutex is its word.
    unsafe { word::at(mutex.cast()) }.map_err(|_| EINVAL)
}
