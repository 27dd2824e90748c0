//! The throughput-optimized mutex.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::options::{answer, furwock_lock_options, furwock_lock_status, read_options};
use crate::word;
use core::ffi::c_int;
use core::hint::black_box;
use engine::lock::{Options, RawMutex};
use engine::unstable::mutex::{
    known_claim, lock_contended, lock_soon, try_lock_known, try_steal, try_unlock_as,
    unlock_contended,
};
use libc::{EBUSY, EINVAL, ETIMEDOUT, pid_t};

/// A mutex of four bytes for throughput: a running thread may take it ahead of the queue, one
/// waiter spins, the others sleep, and none is overtaken for long. FURWOCK_MUTEX_INIT, or zero
/// bytes, make one that is free; it needs no clean-up.
///
/// Not recursive, for threads of one process. Its memory may be freed as soon as it has been
/// unlocked for the last time, even while that unlock is still returning in another thread.
#[repr(C)]
pub struct furwock_mutex {
    /// furwock's own. 0 when free.
    pub word: u32,
}

/// Initialises a free mutex, as FURWOCK_MUTEX_INIT does, whatever the memory held before. Returns
/// 0, or EINVAL for a mutex that is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_init(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's memory, which a raw mutex fits.
    unsafe { word::initialise(mutex.cast(), || Ok(RawMutex::new())) }
}

/// Takes the lock, waiting as long as it takes. Returns 0, or EINVAL for a mutex that is NULL or
/// not aligned. A thread that locks a mutex it holds waits for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_lock(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    match unsafe { raw(mutex) } {
        Ok(raw) if try_lock_known(raw) => 0,
        Ok(raw) => lock_slow(raw),
        Err(errno) => errno,
    }
}

/// Takes the lock if that is possible without waiting. Returns 0, EBUSY or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_trylock(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    match unsafe { raw(mutex) } {
        Ok(raw) if try_lock_known(raw) => 0,
        Ok(raw) => trylock_slow(raw),
        Err(errno) => errno,
    }
}

/// Takes the lock, or gives up at the deadline. Returns 0, ETIMEDOUT, or EINVAL, also for a
/// malformed deadline. Takes a free lock even if the deadline has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_lock_until(
    mutex: *mut furwock_mutex,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's mutex and deadline.
    let arguments = unsafe { raw(mutex).and_then(|raw| Ok((raw, deadline(until)?))) };
    errno_of(arguments.and_then(|(raw, until)| {
        let options = until.map_or(Options::new(), |until| Options::new().until(until));
        let taken = raw.try_lock() || raw.lock_with(&options).is_some();
        taken.then_some(()).ok_or(ETIMEDOUT)
    }))
}

/// Takes the lock with `options` (NULL: as furwock_mutex_lock), and stores how in `*status`, unless
/// that is NULL. Costs no more than furwock_mutex_lock.
///
/// Returns 0; ETIMEDOUT; EINVAL, also for an unknown flag; EOWNERDEAD: the caller holds the lock,
/// and its previous owner has ended without releasing it (FURWOCK_OWNER_DEATH).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_lock_with(
    mutex: *mut furwock_mutex,
    options: *const furwock_lock_options,
    status: *mut furwock_lock_status,
) -> c_int {
    // SAFETY: the caller's mutex and options, and its place for the answer.
    unsafe {
        let arguments = raw(mutex).and_then(|raw| Ok((raw, read_options(options)?)));
        answer(arguments.map(|(raw, options)| raw.lock_with(&options)), status)
    }
}

/// Releases the lock, even one that another thread holds. Returns 0 or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_unlock(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    match unsafe { raw(mutex) } {
        Ok(raw) if try_unlock_as(raw, known_claim()) => 0,
        Ok(raw) => unlock_slow(raw),
        Err(errno) => errno,
    }
}

/// furwock_mutex_unlock that returns how many waiters it woke, or handed the lock to. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_unlock_counting(mutex: *mut furwock_mutex) -> usize {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.map_or(0, RawMutex::unlock)
}

/// furwock_mutex_unlock that hands the lock to the waiter that has waited longest, if there is one,
/// instead of letting any thread take it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_unlock_fair(mutex: *mut furwock_mutex) -> c_int {
    // SAFETY: the caller's mutex.
    errno_of(unsafe { raw(mutex) }.map(|raw| {
        raw.unlock_fair();
    }))
}

/// The kernel's id of the thread that holds it, 0 if it is free. The answer may be out of date at
/// once, unless it names the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_owner(mutex: *const furwock_mutex) -> pid_t {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.map_or(0, |raw| raw.owner() as pid_t)
}

/// Whether a thread holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_is_locked(mutex: *const furwock_mutex) -> bool {
    // SAFETY: the caller's mutex.
    unsafe { raw(mutex) }.is_ok_and(RawMutex::is_locked)
}

// The slow paths have C's calling convention, under which nothing unwinds, and what they return
// mustn't be known: so the fast paths end in a jump, and save no register for a call.
// None repeats its caller's exchange, which would only take the word's cache line from the holder.

#[cold]
#[inline(never)]
extern "C" fn lock_slow(raw: &RawMutex) -> c_int {
    if !lock_soon(raw) {
        // Without a deadline it always takes the lock.
        lock_contended(raw, &const { Options::new() });
    }
    black_box(0)
}

#[cold]
#[inline(never)]
extern "C" fn trylock_slow(raw: &RawMutex) -> c_int {
    if try_steal(raw) { 0 } else { EBUSY }
}

#[cold]
#[inline(never)]
extern "C" fn unlock_slow(raw: &RawMutex) -> c_int {
    unlock_contended(raw);
    black_box(0)
}

const _: () = assert!(size_of::<furwock_mutex>() == size_of::<RawMutex>());

/// # Safety
/// The mutex is null, or there.
#[inline]
pub(crate) unsafe fn raw<'m>(mutex: *const furwock_mutex) -> Result<&'m RawMutex, c_int> {
    // SAFETY: by this function's contract; a raw mutex is its word.
    unsafe { word::at(mutex.cast()) }.map_err(|_| EINVAL)
}
