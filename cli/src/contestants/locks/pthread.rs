//! Pthread's mutex, condition variable and rwlock, called by their plain names so that a preload
//! can replace them.

use std::mem::MaybeUninit;

use super::c::Calls;
use crate::harness::threads::expect;

/// The pthread library of this process: glibc's or the preload's.
pub type Pthread = PthreadCalls<false>;
/// The same, with mutexes that inherit priorities.
pub type PthreadPi = PthreadCalls<true>;

#[derive(Clone, Copy)]
pub struct PthreadCalls<const PI: bool>;

macro_rules! calls {
    ($($name:ident($($object:ident: $type:ty),+) $function:ident;)+) => {$(
        #[inline]
        unsafe fn $name(self, $($object: *mut $type),+) {
            // SAFETY: the caller's promise is what pthread asks for.
            expect(stringify!($function), unsafe { libc::$function($($object),+) });
        }
    )+};
}

// SAFETY: pthread's locks exclude.
unsafe impl<const PI: bool> Calls for PthreadCalls<PI> {
    type Mutex = libc::pthread_mutex_t;
    type RwLock = libc::pthread_rwlock_t;
    type Condvar = libc::pthread_cond_t;

    const MUTEX: libc::pthread_mutex_t = libc::PTHREAD_MUTEX_INITIALIZER;
    const RWLOCK: libc::pthread_rwlock_t = libc::PTHREAD_RWLOCK_INITIALIZER;
    const CONDVAR: libc::pthread_cond_t = libc::PTHREAD_COND_INITIALIZER;

    fn here() -> Self {
        PthreadCalls
    }

    unsafe fn init_mutex(self, mutex: *mut libc::pthread_mutex_t) {
        if !PI {
            return;
        }
        let mut attributes = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are initialised before they are used, and no other thread has the
        // mutex yet.
        unsafe {
            expect("pthread_mutexattr_init", libc::pthread_mutexattr_init(attributes));
            let inherit = libc::PTHREAD_PRIO_INHERIT;
            let code = libc::pthread_mutexattr_setprotocol(attributes, inherit);
            expect("pthread_mutexattr_setprotocol", code);
            expect("pthread_mutex_init", libc::pthread_mutex_init(mutex, attributes));
        }
    }

    calls! {
        lock(mutex: libc::pthread_mutex_t) pthread_mutex_lock;
        unlock(mutex: libc::pthread_mutex_t) pthread_mutex_unlock;
        read_lock(rwlock: libc::pthread_rwlock_t) pthread_rwlock_rdlock;
        read_unlock(rwlock: libc::pthread_rwlock_t) pthread_rwlock_unlock;
        write_lock(rwlock: libc::pthread_rwlock_t) pthread_rwlock_wrlock;
        write_unlock(rwlock: libc::pthread_rwlock_t) pthread_rwlock_unlock;
        wait(condvar: libc::pthread_cond_t, mutex: libc::pthread_mutex_t) pthread_cond_wait;
        signal(condvar: libc::pthread_cond_t) pthread_cond_signal;
        broadcast(condvar: libc::pthread_cond_t) pthread_cond_broadcast;
        destroy_mutex(mutex: libc::pthread_mutex_t) pthread_mutex_destroy;
        destroy_rwlock(rwlock: libc::pthread_rwlock_t) pthread_rwlock_destroy;
        destroy_condvar(condvar: libc::pthread_cond_t) pthread_cond_destroy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::locks::c::{CCondvar, CMutex};
    use crate::contestants::locks::{Condvar, Monitor, Mutex};
    use crate::harness::spawn;
    use std::sync::Arc;

    #[test]
    fn a_small_thread_returns_what_it_counted() {
        let shared = Arc::new((CMutex::<Pthread, _>::new(0u32), CCondvar::<Pthread>::new()));
        let theirs = Arc::clone(&shared);
        let thread = spawn(1, move || {
            let mut count = theirs.0.lock();
            *count += 1;
            theirs.1.signal();
            *count
        });
        let mut count = shared.0.lock();
        while *count == 0 {
            count = CMutex::wait(count, &shared.1);
        }
        drop(count);
        assert_eq!(thread.join(), 1);
    }
}
