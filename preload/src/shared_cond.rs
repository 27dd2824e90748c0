//! Condvars that processes share: glibc's, but perhaps waited on with a mutex of furwock's.
//!
//! glibc's code can't release a mutex of furwock's. Such a wait goes by a stand-in: a private mutex
//! of glibc's, chosen by the condvar's address, which is taken before the program's mutex is
//! released and given to glibc's wait. Who signals the condvar in this process takes the stand-in
//! too, so that no signal falls between the release and the wait. (A signal from another process
//! isn't ordered with a mutex that only this process has, so that it can't be missed in this way.)

use crate::layout::{Kind, Mutex};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use libc::{pthread_cond_t, pthread_mutex_t};

use crate::glibc;

const STAND_INS: usize = 64;

#[repr(align(64))]
struct StandIn(UnsafeCell<pthread_mutex_t>);

// SAFETY: a pthread mutex is made for use by several threads.
unsafe impl Sync for StandIn {}

static STAND_IN: [StandIn; STAND_INS] =
    [const { StandIn(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)) }; STAND_INS];

fn stand_in(cond: *mut pthread_cond_t) -> *mut pthread_mutex_t {
    STAND_IN[(cond.addr() / size_of::<pthread_cond_t>()) % STAND_INS].0.get()
}

/// Puts the mutexes as the program expects them, also when a cancellation unwinds the wait.
struct Exchanged<'m> {
    stand_in: *mut pthread_mutex_t,
    mutex: &'m Mutex,
    kind: Kind,
}

impl Drop for Exchanged<'_> {
    fn drop(&mut self) {
        // SAFETY: glibc's wait has locked the stand-in again.
        unsafe { glibc::pthread_mutex_unlock(self.stand_in) };
        self.mutex.raw.lock();
        self.mutex.held_as(self.kind);
    }
}

/// Waits on a shared condvar by `glibcs`, which is given a mutex of glibc's.
///
/// # Safety
/// The program's objects.
pub(crate) unsafe fn wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    glibcs: impl FnOnce(*mut pthread_mutex_t) -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    let own = unsafe { Mutex::from_ptr(mutex) };
    let kind = own.kind();
    if kind == Kind::Glibc {
        return glibcs(mutex);
    }
    if matches!(kind, Kind::Recursive | Kind::ErrorCheck) && !own.is_own() {
        return libc::EPERM;
    }
    let stand_in = stand_in(cond);
    // SAFETY: a valid mutex, which no thread holds while it waits for the program's.
    unsafe { glibc::pthread_mutex_lock(stand_in) };
    own.release();
    let _exchanged = Exchanged { stand_in, mutex: own, kind };
    glibcs(stand_in)
}

/// Signals a shared condvar by `glibcs`.
pub(crate) fn notify(cond: *mut pthread_cond_t, glibcs: impl FnOnce() -> c_int) -> c_int {
    let stand_in = stand_in(cond);
    // SAFETY: as in `wait`.
    unsafe { glibc::pthread_mutex_lock(stand_in) };
    let result = glibcs();
    // SAFETY: locked above.
    unsafe { glibc::pthread_mutex_unlock(stand_in) };
    result
}
