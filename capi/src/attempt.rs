//! A mutex that its caller takes by itself, once it is its turn.

use crate::deadline::errno_of;
use crate::mutex::{furwock_mutex, raw};
use crate::options::{answer, furwock_lock_options, furwock_lock_status, read_options};
use core::ffi::c_int;
use engine::lock::{Attempt, Options, Status, Turn};
use libc::{EAGAIN, EBUSY, EINVAL};

/// An attempt to take a mutex whose last step is the caller's: it waits until the mutex has been
/// seen free, may look around once more, and then takes it, waits again, or leaves it.
///
/// In the memory of the caller, which neither moves nor copies it between
/// furwock_mutex_attempt_begin and furwock_mutex_attempt_end, and uses it in one thread. Nothing is
/// allocated.
#[repr(C)]
pub struct furwock_mutex_attempt {
    /// furwock's own.
    pub own: [u64; 16],
}

/// What lies there. The attempt borrows the options beside it.
#[repr(C)]
struct Place {
    stage: u64,
    options: Options,
    attempt: Attempt<'static>,
}

const _: () = assert!(size_of::<Place>() <= size_of::<furwock_mutex_attempt>());
const _: () = assert!(align_of::<Place>() <= align_of::<furwock_mutex_attempt>());

/// Stages: numbers, since the memory is C's and may hold anything before it begins.
const WAITING: u64 = u64::from_ne_bytes(*b"furwock1");
const OVER: u64 = u64::from_ne_bytes(*b"furwock2");

/// Begins an attempt, with options or NULL. Takes nothing yet and waits for nothing. 0, or EINVAL,
/// also for malformed options: then there is nothing to end. The options may be gone afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_attempt_begin(
    attempt: *mut furwock_mutex_attempt,
    mutex: *mut furwock_mutex,
    options: *const furwock_lock_options,
) -> c_int {
    /// # Safety
    /// The pointers are null, or what they point to is there, until the attempt has ended.
    unsafe fn begin(
        attempt: *mut furwock_mutex_attempt,
        mutex: *mut furwock_mutex,
        asked: *const furwock_lock_options,
    ) -> Result<(), c_int> {
        let place = place(attempt)?;
        // SAFETY: by this function's contract; the place is large enough for what is written, and what
        // the attempt borrows stays where it is until it has ended.
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

/// Waits until it is the caller's turn. EAGAIN: the mutex was free a moment ago, and is there to be
/// taken by furwock_mutex_attempt_try_take. A thread whose turn it is holds up those behind it
/// until it takes the mutex, waits again, or ends the attempt.
///
/// 0: the mutex was handed over, and the caller holds it; EOWNERDEAD: the same, as
/// FURWOCK_OWNER_DEATH has it; both store how in `*status`, unless that is NULL. ETIMEDOUT. After
/// these three the attempt is over, and only furwock_mutex_attempt_end is left to call. EINVAL for
/// an attempt that is over, or hasn't begun.
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

/// Takes the mutex if it is free, and stores how in `*status`, unless that is NULL. 0: the caller
/// holds it, and the attempt is over. EBUSY: somebody else was faster; wait again. EINVAL as
/// furwock_mutex_attempt_wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_mutex_attempt_try_take(
    attempt: *mut furwock_mutex_attempt,
    status: *mut furwock_lock_status,
) -> c_int {
    let take = |attempt: &mut Attempt<'static>| attempt.try_take().map(Some).ok_or(EBUSY);
    // SAFETY: the caller's attempt, and its place for the answer.
    unsafe { answer(step(attempt, take), status) }
}

/// Ends an attempt, whatever it came to. If it didn't get the mutex, those who wait behind it are
/// seen to; if it did, the caller goes on holding the mutex, for furwock_mutex_unlock to release.
/// 0, or EINVAL for one that hasn't begun, or has ended.
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

/// One step of an attempt that waits. It is over when it got the lock, or timed out.
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
