//! libc's functions by their names, so that the preload serves them if it is loaded. Those that may
//! be cancelled unwind.

#![allow(missing_docs, reason = "POSIX, C11 and glibc have them")]

use libc::{
    c_char, c_int, c_uint, c_void, clockid_t, pthread_barrier_t, pthread_barrierattr_t,
    pthread_cond_t, pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t,
    pthread_t, sem_t, timespec,
};

pub(super) type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
pub(super) type Routine = extern "C-unwind" fn();
pub(super) type CleanUp = extern "C-unwind" fn(*mut c_void);

/// `struct _pthread_cleanup_buffer`.
#[repr(C)]
pub(super) struct CleanUpBuffer {
    routine: *mut c_void,
    argument: *mut c_void,
    kind: c_int,
    before: *mut c_char,
}

#[allow(clashing_extern_declarations, reason = "elsewhere they don't unwind")]
unsafe extern "C-unwind" {
    pub(super) fn pthread_create(
        thread: *mut pthread_t,
        attributes: *const c_void,
        start: Start,
        argument: *mut c_void,
    ) -> c_int;
    pub(super) fn pthread_cancel(thread: pthread_t) -> c_int;
    pub(super) fn pthread_testcancel();
    pub(super) fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    pub(super) fn _pthread_cleanup_push(
        buffer: *mut CleanUpBuffer,
        routine: CleanUp,
        argument: *mut c_void,
    );
    pub(super) fn _pthread_cleanup_pop(buffer: *mut CleanUpBuffer, execute: c_int);
    pub(super) fn pthread_once(control: *mut c_int, routine: Routine) -> c_int;
    pub(super) fn pthread_cond_wait(
        cond: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
    ) -> c_int;
    pub(super) fn pthread_cond_timedwait(
        cond: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn pthread_cond_clockwait(
        cond: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn cnd_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
    pub(super) fn cnd_timedwait(
        cond: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn sem_wait(semaphore: *mut sem_t) -> c_int;
    pub(super) fn sem_timedwait(semaphore: *mut sem_t, at: *const timespec) -> c_int;
    pub(super) fn sem_clockwait(
        semaphore: *mut sem_t,
        clock: clockid_t,
        at: *const timespec,
    ) -> c_int;
}

unsafe extern "C" {
    pub(super) fn pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn pthread_mutexattr_setprotocol(
        attributes: *mut pthread_mutexattr_t,
        protocol: c_int,
    ) -> c_int;
    pub(super) fn pthread_rwlock_timedrdlock(
        lock: *mut pthread_rwlock_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn pthread_rwlock_timedwrlock(
        lock: *mut pthread_rwlock_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn pthread_rwlock_clockrdlock(
        lock: *mut pthread_rwlock_t,
        clock: clockid_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn pthread_rwlock_clockwrlock(
        lock: *mut pthread_rwlock_t,
        clock: clockid_t,
        at: *const timespec,
    ) -> c_int;
    pub(super) fn pthread_rwlockattr_setkind_np(
        attributes: *mut pthread_rwlockattr_t,
        kind: c_int,
    ) -> c_int;
    pub(super) fn pthread_barrier_init(
        barrier: *mut pthread_barrier_t,
        attributes: *const pthread_barrierattr_t,
        parties: c_uint,
    ) -> c_int;
    pub(super) fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int;
    pub(super) fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int;
    pub(super) fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int;
    pub(super) fn mtx_timedlock(mutex: *mut pthread_mutex_t, at: *const timespec) -> c_int;
    pub(super) fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int;
    pub(super) fn mtx_destroy(mutex: *mut pthread_mutex_t);
    pub(super) fn cnd_init(cond: *mut pthread_cond_t) -> c_int;
    pub(super) fn cnd_signal(cond: *mut pthread_cond_t) -> c_int;
    pub(super) fn cnd_broadcast(cond: *mut pthread_cond_t) -> c_int;
    pub(super) fn cnd_destroy(cond: *mut pthread_cond_t);
    pub(super) fn sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int;
}
