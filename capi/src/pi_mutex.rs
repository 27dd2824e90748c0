//! The mutex with priority inheritance.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::word;
use core::ffi::c_int;
use engine::lock::pi::{Acquired, PiError, RawPiMutex, Scope};
use libc::{
    EAGAIN, EBUSY, EDEADLK, EINVAL, ENOMEM, ENOTRECOVERABLE, ENOTSUP, EOWNERDEAD, EPERM, ETIMEDOUT,
    pid_t,
};

/// A mutex whose owner runs at the priority of its most urgent waiter. FURWOCK_PI_MUTEX_INIT makes
/// one for the threads of this process, FURWOCK_PI_MUTEX_SHARED_INIT, or zero bytes, one for all
/// processes that map its memory; it needs no clean-up.
///
/// Waiters sleep in the kernel, which hands the mutex to the one of the highest priority. Not
/// recursive, and not robust.
#[repr(C)]
pub struct furwock_pi_mutex {
    /// furwock's own. 0 when free.
    pub word: u32,
    /// furwock's own: 0 if several processes may use it.
    pub scope: u32,
    /// Zero.
    pub reserved: u64,
}

/// Initialises a free mutex: for all processes that map its memory if `shared`, otherwise for the
/// threads of this process. Returns 0, or EINVAL for a mutex that is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_init(
    mutex: *mut furwock_pi_mutex,
    shared: bool,
) -> c_int {
    let free = furwock_pi_mutex { word: 0, scope: u32::from(!shared), reserved: 0 };
    // SAFETY: the caller's memory.
    unsafe { word::initialise(mutex, || Ok(free)) }
}

/// Takes the lock, waiting as long as it takes. Returns 0; EOWNERDEAD, with the lock held, if its
/// owner ended without unlocking it while the caller waited: what it protects may be inconsistent.
///
/// Without the lock: EDEADLK if the caller holds it, or its owner waits, through other such
/// mutexes, for the caller; ENOTRECOVERABLE if its owner has ended without unlocking it, or its
/// memory was written to; ENOMEM; ENOTSUP if the kernel has no such locks; EINVAL for a mutex that
/// is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_lock(mutex: *mut furwock_pi_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    acquired(unsafe { raw(mutex) }.and_then(|raw| raw.lock().map_err(number_of)))
}

/// Takes the lock if that is possible without waiting. Returns 0; EOWNERDEAD as
/// furwock_pi_mutex_lock; EBUSY; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_trylock(mutex: *mut furwock_pi_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    acquired(unsafe { raw(mutex) }.and_then(|raw| raw.try_lock().ok_or(EBUSY)))
}

/// furwock_pi_mutex_lock with a deadline: ETIMEDOUT once it has passed. Takes a free lock even
/// then. A deadline on CLOCK_MONOTONIC needs Linux 5.14: ENOTSUP before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_lock_until(
    mutex: *mut furwock_pi_mutex,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's mutex and deadline.
    let arguments = unsafe { raw(mutex).and_then(|raw| Ok((raw, deadline(until)?))) };
    acquired(arguments.and_then(|(raw, until)| {
        until.map_or_else(|| raw.lock(), |until| raw.lock_until(&until)).map_err(number_of)
    }))
}

/// Releases the lock; if threads wait, it is handed to the first. Returns 0; EPERM if the caller
/// doesn't hold it; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_unlock(mutex: *mut furwock_pi_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    errno_of(unsafe { raw(mutex) }.and_then(|raw| raw.unlock().map_err(number_of)))
}

/// The kernel's id of the thread that holds it, 0 if it is free. The answer may be out of date at
/// once, unless it names the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_owner(mutex: *const furwock_pi_mutex) -> pid_t {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.map_or(0, |raw| raw.owner() as pid_t)
}

/// Whether a thread holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_pi_mutex_is_locked(mutex: *const furwock_pi_mutex) -> bool {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.is_ok_and(RawPiMutex::is_locked)
}

const _: () = assert!(size_of::<furwock_pi_mutex>() >= size_of::<RawPiMutex>());
const _: () = assert!(align_of::<furwock_pi_mutex>() >= align_of::<RawPiMutex>());
/// The layout of the initialisers: first the word, then whether it is private.
const _: () = {
    // SAFETY: both are eight bytes, and any bytes are two numbers.
    let private: [u32; 2] = unsafe { core::mem::transmute(RawPiMutex::new(Scope::Private)) };
    assert!(private[0] == 0 && private[1] == 1);
};

/// # Safety
/// The mutex is null, or there.
#[inline]
pub(crate) unsafe fn raw<'m>(mutex: *const furwock_pi_mutex) -> Result<&'m RawPiMutex, c_int> {
    // SAFETY: by this function's contract; a raw PI mutex is its first two words.
    unsafe { word::at(mutex.cast()) }
}

#[inline]
fn acquired(result: Result<Acquired, c_int>) -> c_int {
    match result {
        Ok(Acquired::Properly) => 0,
        Ok(Acquired::OwnerDied) => EOWNERDEAD,
        Err(number) => number,
    }
}

#[cold]
pub(crate) fn number_of(error: PiError) -> c_int {
    match error {
        PiError::Deadlock => EDEADLK,
        PiError::TimedOut => ETIMEDOUT,
        PiError::NotOwner => EPERM,
        PiError::OtherMutex => EINVAL,
        PiError::Mismatch => EAGAIN,
        PiError::NoMemory => ENOMEM,
        PiError::Unsupported(_) => ENOTSUP,
        // `OwnerGone`, `Corrupt`: no thread gets it any more.
        _ => ENOTRECOVERABLE,
    }
}
