//! Making objects, and ending them.

use super::ffi as c;
use super::kind::{CondClock, Kind, Made, Prefers, Rules};
use libc::{PTHREAD_PROCESS_SHARED, c_int};
use std::mem::MaybeUninit;
use std::ptr;

/// The largest object.
pub(super) const SIZE: usize = 64;

const PTHREAD_PRIO_INHERIT: c_int = 1;
const MTX_RECURSIVE_TIMED: c_int = 3;
const MTX_TIMED: c_int = 2;

/// Makes an object in memory that was another's. Returns 0 or an error number.
///
/// # Safety
/// `at` has room and is the caller's.
pub(super) unsafe fn make(at: *mut u8, kind: Kind) -> c_int {
    // SAFETY: by this function's contract; each object is of its kind.
    unsafe {
        match kind {
            Kind::Mutex(rules, made) => mutex(at.cast(), rules, made),
            Kind::Cond(clock, made) => cond(at.cast(), clock, made),
            Kind::RwLock(prefers, made) => rwlock(at.cast(), prefers, made),
            Kind::Semaphore(permits, made) => {
                libc::sem_init(at.cast(), (made == Made::Shared).into(), permits)
            }
            Kind::Barrier(parties, made) => barrier(at.cast(), parties, made),
            Kind::Once => {
                at.cast::<c_int>().write(0);
                0
            }
            Kind::Spin => libc::pthread_spin_init(at.cast(), libc::PTHREAD_PROCESS_PRIVATE),
        }
    }
}

unsafe fn mutex(at: *mut libc::pthread_mutex_t, rules: Rules, made: Made) -> c_int {
    let (initialiser, kind) = match rules {
        Rules::Normal => (libc::PTHREAD_MUTEX_INITIALIZER, libc::PTHREAD_MUTEX_NORMAL),
        Rules::Recursive => {
            (libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, libc::PTHREAD_MUTEX_RECURSIVE)
        }
        Rules::ErrorCheck => {
            (libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, libc::PTHREAD_MUTEX_ERRORCHECK)
        }
        Rules::Adaptive => (libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, 3),
    };
    // SAFETY: as `make`; the attributes are initialised before they are used.
    unsafe {
        match made {
            Made::Static => {
                at.write(initialiser);
                return 0;
            }
            Made::C11 if rules == Rules::Recursive => return c::mtx_init(at, MTX_RECURSIVE_TIMED),
            Made::C11 => return c::mtx_init(at, MTX_TIMED),
            _ => {}
        }
        let mut attributes = MaybeUninit::uninit();
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), kind);
        match made {
            Made::Shared => {
                libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), PTHREAD_PROCESS_SHARED)
            }
            Made::Robust => libc::pthread_mutexattr_setrobust(
                attributes.as_mut_ptr(),
                libc::PTHREAD_MUTEX_ROBUST,
            ),
            Made::Inheriting => {
                c::pthread_mutexattr_setprotocol(attributes.as_mut_ptr(), PTHREAD_PRIO_INHERIT)
            }
            _ => 0,
        };
        libc::pthread_mutex_init(at, attributes.as_ptr())
    }
}

unsafe fn cond(at: *mut libc::pthread_cond_t, clock: CondClock, made: Made) -> c_int {
    // SAFETY: as in `mutex`.
    unsafe {
        match made {
            Made::Static => {
                at.write(libc::PTHREAD_COND_INITIALIZER);
                return 0;
            }
            Made::C11 => return c::cnd_init(at),
            _ => {}
        }
        let mut attributes = MaybeUninit::uninit();
        libc::pthread_condattr_init(attributes.as_mut_ptr());
        if clock == CondClock::Monotonic {
            libc::pthread_condattr_setclock(attributes.as_mut_ptr(), libc::CLOCK_MONOTONIC);
        }
        if made == Made::Shared {
            libc::pthread_condattr_setpshared(attributes.as_mut_ptr(), PTHREAD_PROCESS_SHARED);
        }
        libc::pthread_cond_init(at, attributes.as_ptr())
    }
}

unsafe fn rwlock(at: *mut libc::pthread_rwlock_t, prefers: Prefers, made: Made) -> c_int {
    let kind = match prefers {
        Prefers::Readers => 0,
        Prefers::Writers => 1,
        Prefers::WritersNonrecursive => 2,
    };
    // SAFETY: as in `mutex`.
    unsafe {
        if made == Made::Static {
            at.write(libc::PTHREAD_RWLOCK_INITIALIZER);
            return 0;
        }
        let mut attributes = MaybeUninit::uninit();
        libc::pthread_rwlockattr_init(attributes.as_mut_ptr());
        c::pthread_rwlockattr_setkind_np(attributes.as_mut_ptr(), kind);
        if made == Made::Shared {
            libc::pthread_rwlockattr_setpshared(attributes.as_mut_ptr(), PTHREAD_PROCESS_SHARED);
        }
        libc::pthread_rwlock_init(at, attributes.as_ptr())
    }
}

unsafe fn barrier(at: *mut libc::pthread_barrier_t, parties: u8, made: Made) -> c_int {
    // SAFETY: as in `mutex`.
    unsafe {
        if made != Made::Shared {
            return c::pthread_barrier_init(at, ptr::null(), parties.into());
        }
        let mut attributes = MaybeUninit::uninit();
        libc::pthread_barrierattr_init(attributes.as_mut_ptr());
        libc::pthread_barrierattr_setpshared(attributes.as_mut_ptr(), PTHREAD_PROCESS_SHARED);
        c::pthread_barrier_init(at, attributes.as_ptr(), parties.into())
    }
}

/// Ends an object. Returns 0 or an error number.
///
/// # Safety
/// There is an object of this kind, which nothing uses.
pub(super) unsafe fn destroy(at: *mut u8, kind: Kind) -> c_int {
    // SAFETY: by this function's contract.
    unsafe {
        match kind {
            Kind::Mutex(_, Made::C11) => c::mtx_destroy(at.cast()),
            Kind::Cond(_, Made::C11) => c::cnd_destroy(at.cast()),
            Kind::Mutex(..) => return libc::pthread_mutex_destroy(at.cast()),
            Kind::Cond(..) => return libc::pthread_cond_destroy(at.cast()),
            Kind::RwLock(..) => return libc::pthread_rwlock_destroy(at.cast()),
            Kind::Semaphore(..) => return libc::sem_destroy(at.cast()),
            Kind::Barrier(..) => return libc::pthread_barrier_destroy(at.cast()),
            Kind::Spin => return libc::pthread_spin_destroy(at.cast()),
            Kind::Once => {}
        }
    }
    0
}
