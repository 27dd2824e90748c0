//! Names for locks, which tools show.

use crate::barrier::{self, furwock_barrier};
use crate::condvar::{self, furwock_condvar};
use crate::deadline::errno_of;
use crate::mutex::{self, furwock_mutex};
use crate::pi_mutex::{self, furwock_pi_mutex};
use crate::robust_mutex::{self, furwock_robust_mutex};
use crate::robust_rwlock::{self, furwock_robust_rwlock};
use crate::rwlock::{self, furwock_rwlock};
use crate::semaphore::{self, furwock_semaphore};
use core::ffi::{CStr, c_char, c_int};
use engine::inspect::Inspect;
use engine::unstable::inspect::{remove_name, set_name};
use libc::{EINVAL, ENOMEM};

/// Names the mutex, for `furwock who`, furwock-locks in gdb, and other tools. The name is copied,
/// as far as it has room: 95 bytes. It costs the mutex nothing on its way to being locked.
///
/// Another name replaces it; with NULL the mutex has none any more, which a mutex in memory that is
/// going to be freed needs. Returns 0; EINVAL for a mutex that is NULL or not aligned, or a name
/// that isn't UTF-8; ENOMEM if some 4,000 objects have names already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_name(
    mutex: *const furwock_mutex,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's mutex and string.
    errno_of(unsafe { mutex::raw(mutex).and_then(|raw| set(raw, name)) })
}

/// furwock_mutex_name for a condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_condvar_name(
    condvar: *const furwock_condvar,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's condvar and string.
    errno_of(unsafe { condvar::own(condvar.cast_mut()).and_then(|raw| set(raw, name)) })
}

/// furwock_mutex_name for a reader-writer lock. furwock_rwlock_destroy takes the name away, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_name(
    lock: *const furwock_rwlock,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's lock and string.
    errno_of(unsafe { rwlock::raw(lock.cast_mut()).and_then(|raw| set(raw, name)) })
}

/// furwock_mutex_name for a semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_name(
    semaphore: *const furwock_semaphore,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's semaphore and string.
    errno_of(unsafe { semaphore::raw(semaphore).and_then(|raw| set(raw, name)) })
}

/// furwock_mutex_name for a barrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_barrier_name(
    barrier: *const furwock_barrier,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's barrier and string.
    errno_of(unsafe { barrier::raw(barrier).and_then(|raw| set(raw, name)) })
}

/// furwock_mutex_name for a PI mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_name(
    mutex: *const furwock_pi_mutex,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's mutex and string.
    errno_of(unsafe { pi_mutex::raw(mutex).and_then(|raw| set(raw, name)) })
}

/// furwock_mutex_name for a robust mutex. The name is this process's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_name(
    mutex: *const furwock_robust_mutex,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's mutex and string.
    errno_of(unsafe { robust_mutex::raw(mutex).and_then(|raw| set(raw, name)) })
}

/// furwock_mutex_name for a robust reader-writer lock. The name is this process's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_name(
    lock: *const furwock_robust_rwlock,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's lock and string.
    errno_of(unsafe { robust_rwlock::raw(lock).and_then(|raw| set(raw, name)) })
}

/// # Safety
/// The name is null, or a string.
unsafe fn set(object: &impl Inspect, name: *const c_char) -> Result<(), c_int> {
    let address = object.address();
    if name.is_null() {
        remove_name(address);
        return Ok(());
    }
    // SAFETY: by this function's contract.
    let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| EINVAL)?;
    if set_name(address, name) { Ok(()) } else { Err(ENOMEM) }
}
