//! A mutex that the caller takes itself, once it is its turn.

use crate::deadline::errno_of;
use crate::mutex::{furwock_mutex, raw};
use crate::options::{answer, furwock_lock_options, furwock_lock_status, read_options};
use core::ffi::c_int;
use engine::lock::{Attempt, Options, Status, Turn};
use libc::{EAGAIN, EBUSY, EINVAL};

/// An attempt to take a mutex that leaves the last step to the caller: the caller waits until the
/// mutex has been seen free, may check something once more, and then takes the mutex, waits again,
/// or leaves it.
///
/// It lies in the caller's memory. The caller neither moves nor copies it between
/// furwock_mutex_attempt_begin and furwock_mutex_attempt_end, and uses it in one thread. Nothing is
/// allocated.
#[repr(C)]
pub struct furwock_mutex_attempt {
    /// furwock's own.
    pub own: [u64; 16],
}

/// What the memory holds. The attempt borrows the options beside it.
#[repr(C)]
struct Place {
    stage: u64,
    options: Options,
    attempt: Attempt<'static>,
}

const _: () = assert!(size_of::<Place>() <= size_of::<furwock_mutex_attempt>());
const _: () = assert!(align_of::<Place>() <= align_of::<furwock_mutex_attempt>());

/// Stages: numbers, since the memory is C's and may hold anything before the attempt begins.
const WAITING: u64 = u64::from_ne_bytes(*b"furwock1");
const OVER: u64 = u64::from_ne_bytes(*b"furwock2");

/// Begins an attempt, with options or NULL. Doesn't wait, and doesn't take the mutex yet. Returns
/// 0, or EINVAL, also for malformed options: then there is nothing to end. The options need not
/// outlive the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_attempt_begin(
    attempt: *mut furwock_mutex_attempt,
    mutex: *mut furwock_mutex,
    options: *const furwock_lock_options,
) -> c_int {
    /// # Safety
    /// The pointers are null or valid until the attempt has ended.
    unsafe fn begin(
        attempt: *mut furwock_mutex_attempt,
        mutex: *mut furwock_mutex,
        asked: *const furwock_lock_options,
    ) -> Result<(), c_int> {
        let place = place(attempt)?;
        // SAFETY: by this function's contract; the place is large enough for what is written, and
        // what the attempt borrows stays where it is until it has ended.
        unsafe {
            let mutex = raw(mutex)?;
            (&raw mut (*place).options).write(read_options(asked)?);
            let options = &(*place).options;
            (&raw mut (*place).attempt).write(mutex.attempt(options));
            (&raw mut (*place).stage).write(WAITING);
        }
        Ok(())
    }
    // SAFETY: the caller's objects.
    errno_of(unsafe { begin(attempt, mutex, options) })
}

/// Waits until it is the caller's turn. Returns EAGAIN if the mutex was free a moment ago:
/// furwock_mutex_attempt_try_take takes it. A thread whose turn it is holds up the waiters behind
/// it until it takes the mutex, waits again, or ends the attempt.
///
/// Returns 0 if the mutex was handed over and the caller holds it, and EOWNERDEAD if the caller
/// holds it as FURWOCK_OWNER_DEATH describes; both store how in `*status`, unless that is NULL.
/// Returns ETIMEDOUT after the deadline. After these three the attempt is over, and only
/// furwock_mutex_attempt_end may be called. Returns EINVAL for an attempt that is over, or hasn't
/// begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_attempt_wait(
    attempt: *mut furwock_mutex_attempt,
    status: *mut furwock_lock_status,
) -> c_int {
    let wait = |attempt: &mut Attempt<'static>| match attempt.wait() {
        Turn::Held(status) => Ok(Some(status)),
        Turn::TimedOut => Ok(None),
        Turn::Try => Err(EAGAIN),
    };
    // SAFETY: the caller's attempt, and its place for the answer.
    unsafe { answer(step(attempt, wait), status) }
}

/// Takes the mutex if it is free, and stores how in `*status`, unless that is NULL. Returns 0 if
/// the caller holds it now: the attempt is over. EBUSY: another thread was faster; wait again.
/// EINVAL as furwock_mutex_attempt_wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_attempt_try_take(
    attempt: *mut furwock_mutex_attempt,
    status: *mut furwock_lock_status,
) -> c_int {
    let take = |attempt: &mut Attempt<'static>| attempt.try_take().map(Some).ok_or(EBUSY);
    // SAFETY: the caller's attempt, and its place for the answer.
    unsafe { answer(step(attempt, take), status) }
}

/// Ends an attempt, whatever its result. If it didn't get the mutex, the waiters behind it go on;
/// if it did, the caller keeps the mutex, until it calls furwock_mutex_unlock. Returns 0, or EINVAL
/// for an attempt that hasn't begun, or has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_attempt_end(attempt: *mut furwock_mutex_attempt) -> c_int {
    /// # Safety
    /// The attempt is null, or there.
    unsafe fn end(attempt: *mut furwock_mutex_attempt) -> Result<(), c_int> {
        let place = place(attempt)?;
        // SAFETY: by this function's contract. What has begun is there to be dropped, once.
        unsafe {
            let stage = &raw mut (*place).stage;
            if !matches!(stage.read(), WAITING | OVER) {
                return Err(EINVAL);
            }
            stage.write(0);
            (&raw mut (*place).attempt).drop_in_place();
        }
        Ok(())
    }
    // SAFETY: the caller's attempt.
    errno_of(unsafe { end(attempt) })
}

/// One step of an attempt that waits. The attempt is over once it has the lock, or timed out.
///
/// # Safety
/// The attempt is null, or there.
unsafe fn step(
    attempt: *mut furwock_mutex_attempt,
    step: impl FnOnce(&mut Attempt<'static>) -> Result<Option<Status>, c_int>,
) -> Result<Option<Status>, c_int> {
    let place = place(attempt)?;
    // SAFETY: by this function's contract. What has begun is there.
    unsafe {
        let stage = &raw mut (*place).stage;
        if stage.read() != WAITING {
            return Err(EINVAL);
        }
        let came = step(&mut (*place).attempt)?;
        stage.write(OVER);
        Ok(came)
    }
}

fn place(attempt: *mut furwock_mutex_attempt) -> Result<*mut Place, c_int> {
    if attempt.is_null() || !attempt.is_aligned() {
        return Err(EINVAL);
    }
    Ok(attempt.cast())
}
