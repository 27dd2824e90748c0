//! The mutex that survives its holder's death.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::word;
use core::ffi::c_int;
use engine::lock::robust::{Held, RawRobustMutex, Refused};
use libc::{EBUSY, EINVAL, ENOTRECOVERABLE, ENOTSUP, EOWNERDEAD, EPERM, ETIMEDOUT, pid_t};

/// A mutex for threads and processes that may die holding it. FURWOCK_ROBUST_MUTEX_INIT, or zero
/// bytes, make a free one; it needs no clean-up once no thread holds it.
///
/// It may lie in memory that several processes of one PID namespace map. While a thread holds it,
/// its memory stays mapped and in place. Not recursive. A forked child holds nothing.
#[repr(C)]
pub struct furwock_robust_mutex {
    /// furwock's own.
    pub own: [u64; 16],
}

/// Initialises a free mutex. Returns 0, or EINVAL for one that is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_init(mutex: *mut furwock_robust_mutex) -> c_int {
    // SAFETY: the caller's memory.
    unsafe { word::initialise(mutex, || Ok(furwock_robust_mutex { own: [0; 16] })) }
}

/// Takes the lock, waiting as long as it takes. Returns 0, or EOWNERDEAD, with the lock held, if
/// its holder died: the caller repairs what it protects, and calls furwock_robust_mutex_consistent
/// before it unlocks.
///
/// Without the lock: ENOTRECOVERABLE if the mutex was unlocked without that call; ENOTSUP if the C
/// library has no robust list that furwock could share, as musl; EINVAL for a mutex that is NULL or
/// not aligned. A thread that locks a mutex it holds waits for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_lock(mutex: *mut furwock_robust_mutex) -> c_int {
    // SAFETY: the caller's mutex, which stays while it is held.
    errno_of(unsafe { raw(mutex).and_then(|raw| held(raw.lock())) })
}

/// Takes the lock if that is possible without waiting: EBUSY if a thread holds it. Otherwise
/// returns what furwock_robust_mutex_lock does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_trylock(mutex: *mut furwock_robust_mutex) -> c_int {
    // SAFETY: the caller's mutex, which stays while it is held.
    errno_of(unsafe { raw(mutex).and_then(|raw| held(raw.try_lock())) })
}

/// furwock_robust_mutex_lock with a deadline: ETIMEDOUT once it has passed. Takes a free lock even
/// then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_lock_until(
    mutex: *mut furwock_robust_mutex,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's mutex, which stays while it is held, and its deadline.
    errno_of(unsafe {
        let arguments = raw(mutex).and_then(|raw| Ok((raw, deadline(until)?)));
        arguments.and_then(|(raw, until)| match until {
            Some(until) => held(raw.lock_until(&until)),
            None => held(raw.lock()),
        })
    })
}

/// Releases the lock. If the caller got it by EOWNERDEAD and hasn't called
/// furwock_robust_mutex_consistent since, no thread ever gets it again. Returns 0; EPERM if the
/// caller doesn't hold it; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_unlock(mutex: *mut furwock_robust_mutex) -> c_int {
    // SAFETY: the caller's mutex, which names the caller as its holder.
    errno_of(unsafe { raw(mutex) }.and_then(|raw| {
        if raw.owner() != engine::lock::thread_id() {
            return Err(EPERM);
        }
        // SAFETY: the same.
        unsafe { raw.unlock() };
        Ok(())
    }))
}

/// Says that what the mutex protects is in order again. Returns 0, or EINVAL if the caller doesn't
/// hold it by EOWNERDEAD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_consistent(
    mutex: *mut furwock_robust_mutex,
) -> c_int {
    // SAFETY: the caller's mutex.
    let mutex = unsafe { raw(mutex) };
    errno_of(mutex.and_then(|raw| raw.make_consistent().then_some(()).ok_or(EINVAL)))
}

/// The kernel's id of the thread that holds it, as that thread's process has it; 0 if none does.
/// The answer may be out of date at once, unless it names the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_owner(mutex: *const furwock_robust_mutex) -> pid_t {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.map_or(0, |raw| raw.owner() as pid_t)
}

/// Whether a thread holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_is_locked(
    mutex: *const furwock_robust_mutex,
) -> bool {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.is_ok_and(RawRobustMutex::is_locked)
}

/// Whether the lock is lost: every call returns ENOTRECOVERABLE, until furwock_robust_mutex_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_mutex_is_lost(mutex: *const furwock_robust_mutex) -> bool {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.is_ok_and(RawRobustMutex::is_not_recoverable)
}

const _: () = assert!(size_of::<furwock_robust_mutex>() >= size_of::<RawRobustMutex>());
const _: () = assert!(align_of::<furwock_robust_mutex>() >= align_of::<RawRobustMutex>());

/// # Safety
/// The mutex is null, or there.
#[inline]
pub(crate) unsafe fn raw<'m>(
    mutex: *const furwock_robust_mutex,
) -> Result<&'m RawRobustMutex, c_int> {
    // SAFETY: by this function's contract; zero bytes are a raw robust mutex.
    unsafe { word::at(mutex.cast()) }
}

/// C's result of a call that got a robust lock, or didn't.
#[inline]
pub(crate) fn held(result: Result<Held, Refused>) -> Result<(), c_int> {
    match result {
        Ok(Held::Acquired) => Ok(()),
        Ok(Held::OwnerDied) => Err(EOWNERDEAD),
        Err(refused) => Err(number_of(refused)),
    }
}

pub(crate) fn number_of(refused: Refused) -> c_int {
    match refused {
        Refused::NotRecoverable => ENOTRECOVERABLE,
        Refused::WouldBlock => EBUSY,
        Refused::TimedOut => ETIMEDOUT,
        Refused::Unsupported(_) => ENOTSUP,
    }
}
