//! The functions that make objects, and two that destroy them: glibc's, and then the place is
//! noted. The library that doesn't record leaves them to glibc, but for `pthread_cond_init`.

use super::{destroyed, made};
use crate::glibc;
use crate::layout::{Barrier, Cond, Mutex, MutexKind, RwLock, Semaphore};
use crate::recording::Kind;
use core::ffi::{c_int, c_uint};
use libc::{
    pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_mutex_t, pthread_mutexattr_t,
    pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t, sem_t,
};

/// Notes an object that was initialised with this result.
#[inline(always)]
fn note<T>(object: *mut T, kind: Kind, result: c_int, is_ours: impl FnOnce() -> bool) -> c_int {
    if result == 0 {
        made(object, kind, is_ours);
    }
    result
}

/// # Safety
/// The program's mutex, initialised.
unsafe fn is_our_mutex(mutex: *mut pthread_mutex_t) -> bool {
    // SAFETY: by this function's contract.
    unsafe { Mutex::from_ptr(mutex) }.kind() != MutexKind::Glibc
}

/// POSIX `pthread_mutex_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attr: *const pthread_mutexattr_t,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        let result = glibc::pthread_mutex_init(mutex, attr);
        note(mutex, Kind::Mutex, result, || is_our_mutex(mutex))
    }
}

/// glibc's other name for it, which old programs call.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attr: *const pthread_mutexattr_t,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { pthread_mutex_init(mutex, attr) }
}

/// C11 `mtx_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int {
    // SAFETY: the program's mutex, which has a pthread mutex's format.
    unsafe {
        let result = glibc::mtx_init(mutex, kind);
        note(mutex, Kind::Mutex, result, || is_our_mutex(mutex))
    }
}

/// POSIX `pthread_rwlock_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_init(
    lock: *mut pthread_rwlock_t,
    attr: *const pthread_rwlockattr_t,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        let result = glibc::pthread_rwlock_init(lock, attr);
        note(lock, Kind::RwLock, result, || RwLock::from_ptr(lock).is_ours())
    }
}

/// glibc's other name for it, which old programs call.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pthread_rwlock_init(
    lock: *mut pthread_rwlock_t,
    attr: *const pthread_rwlockattr_t,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { pthread_rwlock_init(lock, attr) }
}

/// C11 `cnd_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_init(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condvar, which has a pthread condvar's format.
    unsafe {
        let result = glibc::cnd_init(cond);
        note(cond, Kind::Condvar, result, || Cond::from_ptr(cond).is_ours())
    }
}

/// POSIX `sem_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_init(
    semaphore: *mut sem_t,
    shared: c_int,
    value: c_uint,
) -> c_int {
    // SAFETY: the program's semaphore.
    unsafe {
        let result = glibc::sem_init(semaphore, shared, value);
        note(semaphore, Kind::Semaphore, result, || Semaphore::from_ptr(semaphore).is_ours())
    }
}

/// POSIX `sem_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_destroy(semaphore: *mut sem_t) -> c_int {
    destroyed(semaphore, Kind::Semaphore);
    // SAFETY: the program's semaphore.
    unsafe { glibc::sem_destroy(semaphore) }
}

/// POSIX `pthread_barrier_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attr: *const pthread_barrierattr_t,
    count: c_uint,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        let result = glibc::pthread_barrier_init(barrier, attr, count);
        note(barrier, Kind::Barrier, result, || Barrier::from_ptr(barrier).is_ours())
    }
}

/// POSIX `pthread_spin_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_init(
    lock: *mut pthread_spinlock_t,
    shared: c_int,
) -> c_int {
    // SAFETY: the program's lock.
    let result = unsafe { glibc::pthread_spin_init(lock, shared) };
    note(lock, Kind::Spin, result, || true)
}

/// POSIX `pthread_spin_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_destroy(lock: *mut pthread_spinlock_t) -> c_int {
    destroyed(lock, Kind::Spin);
    // SAFETY: the program's lock.
    unsafe { glibc::pthread_spin_destroy(lock) }
}
