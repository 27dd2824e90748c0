//! `<threads.h>`: `mtx_*` and `cnd_*`, which glibc serves without calling the pthread functions
//! that a preload replaces.
//!
//! `mtx_init` and `cnd_init` are glibc's: they write the pthread objects' formats.

use crate::cond::{
    pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_signal, pthread_cond_timedwait,
    pthread_cond_wait,
};
use crate::mutex::{
    pthread_mutex_destroy, pthread_mutex_lock, pthread_mutex_timedlock, pthread_mutex_trylock,
    pthread_mutex_unlock,
};
use core::ffi::c_int;
use libc::{pthread_cond_t, pthread_mutex_t, timespec};

const THRD_SUCCESS: c_int = 0;
const THRD_BUSY: c_int = 1;
const THRD_ERROR: c_int = 2;
const THRD_NOMEM: c_int = 3;
const THRD_TIMEDOUT: c_int = 4;

fn result(errno: c_int) -> c_int {
    match errno {
        0 => THRD_SUCCESS,
        libc::EBUSY => THRD_BUSY,
        libc::ENOMEM => THRD_NOMEM,
        libc::ETIMEDOUT => THRD_TIMEDOUT,
        _ => THRD_ERROR,
    }
}

/// C11 `mtx_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex, which has a pthread mutex's format.
    result(unsafe { pthread_mutex_lock(mutex) })
}

/// C11 `mtx_trylock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as in `mtx_lock`.
    result(unsafe { pthread_mutex_trylock(mutex) })
}

/// C11 `mtx_timedlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_timedlock(
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: as in `mtx_lock`; the program's timespec.
    result(unsafe { pthread_mutex_timedlock(mutex, at) })
}

/// C11 `mtx_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as in `mtx_lock`.
    result(unsafe { pthread_mutex_unlock(mutex) })
}

/// C11 `mtx_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_destroy(mutex: *mut pthread_mutex_t) {
    // SAFETY: as in `mtx_lock`.
    unsafe { pthread_mutex_destroy(mutex) };
}

/// C11 `cnd_wait`. A cancellation point, as glibc's is.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    // SAFETY: the program's objects, which have the pthread objects' formats.
    result(unsafe { pthread_cond_wait(cond, mutex) })
}

/// C11 `cnd_timedwait`. A cancellation point, as glibc's is.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: as in `cnd_wait`; the program's timespec.
    result(unsafe { pthread_cond_timedwait(cond, mutex, at) })
}

/// C11 `cnd_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_signal(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: as in `cnd_wait`.
    result(unsafe { pthread_cond_signal(cond) })
}

/// C11 `cnd_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_broadcast(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: as in `cnd_wait`.
    result(unsafe { pthread_cond_broadcast(cond) })
}

/// C11 `cnd_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_destroy(cond: *mut pthread_cond_t) {
    // SAFETY: as in `cnd_wait`.
    unsafe { pthread_cond_destroy(cond) };
}
