//! glibc's static probes (USDT), under glibc's names and with its arguments, so that scripts that
//! count or time locks with them work with furwock.
//!
//! A probe is one nop, and a note in the file that says where it is and which registers hold its
//! arguments. Each stands where glibc's code has it. Objects that glibc serves hit glibc's own
//! probes.

use crate::layout::{Mutex, RwLock};
use core::ptr::from_ref;
use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use probe::probe;

macro_rules! probes {
    ($($name:ident($($argument:ident: $type:ty = $value:expr),*);)*) => {$(
        #[inline(always)]
        pub(crate) fn $name($($argument: $type),*) {
            probe!(libc, $name $(, $value)*);
        }
    )*};
}

probes! {
    mutex_entry(mutex: &Mutex = from_ref(mutex));
    mutex_acquired(mutex: &Mutex = from_ref(mutex));
    mutex_timedlock_entry(mutex: &Mutex = from_ref(mutex), at: *const timespec = at);
    mutex_clocklock_entry(mutex: &Mutex = from_ref(mutex), clock: clockid_t = clock,
        at: *const timespec = at);
    mutex_timedlock_acquired(mutex: &Mutex = from_ref(mutex));
    mutex_release(mutex: &Mutex = from_ref(mutex));
    mutex_destroy(mutex: &Mutex = from_ref(mutex));
    lll_lock_wait(mutex: &Mutex = from_ref(mutex));
    cond_wait(cond: *mut pthread_cond_t = cond, mutex: *mut pthread_mutex_t = mutex);
    cond_signal(cond: *mut pthread_cond_t = cond);
    cond_broadcast(cond: *mut pthread_cond_t = cond);
    cond_destroy(cond: *mut pthread_cond_t = cond);
    rdlock_entry(lock: &RwLock = from_ref(lock));
    rdlock_acquire_read(lock: &RwLock = from_ref(lock));
    wrlock_entry(lock: &RwLock = from_ref(lock));
    wrlock_acquire_write(lock: &RwLock = from_ref(lock));
    rwlock_unlock(lock: &RwLock = from_ref(lock));
    rwlock_destroy(lock: &RwLock = from_ref(lock));
}
