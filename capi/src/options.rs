//! How a lock is to be taken, and how it was.

use crate::deadline::{deadline, furwock_deadline};
use core::ffi::{c_int, c_uint};
use core::time::Duration;
use engine::lock::{How, Options, Status};
use libc::{EINVAL, EOWNERDEAD, ETIMEDOUT};

/// A flag of furwock_lock_options: doesn't take the lock past a waiter that has been woken for it.
/// The caller still takes a free lock that nobody is about to take.
pub const FURWOCK_NO_STEAL: c_uint = 1;

/// A flag of furwock_lock_options: sleeps without having spun.
pub const FURWOCK_NO_SPIN: c_uint = 2;

/// A flag of furwock_lock_options: looks, while waiting, if the thread that holds the lock has
/// ended without releasing it, and takes it over if so. The call then returns EOWNERDEAD, and the
/// lock is held: what it protects may be half done.
///
/// A waiter looks about every 20 ms. A new thread that was given the dead one's kernel id looks
/// like it for as long as it lives; a dead reader leaves no name and is not found.
pub const FURWOCK_OWNER_DEATH: c_uint = 4;

const FLAGS: c_uint = FURWOCK_NO_STEAL | FURWOCK_NO_SPIN | FURWOCK_OWNER_DEATH;

/// How a lock is to be taken by one call. NULL instead, or zero bytes, is what the plain call does.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct furwock_lock_options {
    /// When to give up; NULL: never.
    pub until: *const furwock_deadline,
    /// How long to wait, from the first sleep on, before asking for the lock to be handed over: it
    /// then goes to whoever is first in the queue. 0: as long as the plain call does, 5 ms.
    pub hand_off_after_ns: u64,
    /// FURWOCK_NO_STEAL, FURWOCK_NO_SPIN, FURWOCK_OWNER_DEATH, or none.
    pub flags: c_uint,
}

/// The way by which a lock was got.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum furwock_lock_how {
    /// It was free, with nobody waiting for it.
    FURWOCK_HOW_FAST,
    /// It was free, though others waited for it or had just had it: taken past them.
    FURWOCK_HOW_STOLEN,
    /// The caller spun until it was free.
    FURWOCK_HOW_SPUN,
    /// The caller slept, was woken, and took it.
    FURWOCK_HOW_SLEPT,
    /// It was given to the caller, who slept.
    FURWOCK_HOW_HANDED_OVER,
}

/// How one call got a lock. To know it costs nothing: it is stored only where the lock was got.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct furwock_lock_status {
    /// By which way.
    pub how: furwock_lock_how,
    /// How often the caller went to sleep for it.
    pub sleeps: u32,
    /// Its owner had ended without releasing it (FURWOCK_OWNER_DEATH).
    pub owner_died: bool,
}

/// The engine's options for C's; `EINVAL` for a flag that there isn't, or a malformed deadline.
///
/// # Safety
/// NULL, or a pointer to options.
pub(crate) unsafe fn read_options(options: *const furwock_lock_options) -> Result<Options, c_int> {
    // SAFETY: by this function's contract.
    let Some(asked) = (unsafe { options.as_ref() }) else { return Ok(Options::new()) };
    if asked.flags & !FLAGS != 0 {
        return Err(EINVAL);
    }
    let mut options = Options::new()
        .steal(asked.flags & FURWOCK_NO_STEAL == 0)
        .spin(asked.flags & FURWOCK_NO_SPIN == 0)
        .owner_death(asked.flags & FURWOCK_OWNER_DEATH != 0);
    if asked.hand_off_after_ns != 0 {
        options = options.hand_off_after(Duration::from_nanos(asked.hand_off_after_ns));
    }
    // SAFETY: the same.
    Ok(match unsafe { deadline(asked.until) }? {
        Some(until) => options.until(until),
        None => options,
    })
}

/// C's result of a call that got a lock, or timed out; stores how in `*place`, unless that is NULL.
///
/// # Safety
/// `place` is NULL or may be written to.
pub(crate) unsafe fn answer(
    got: Result<Option<Status>, c_int>,
    place: *mut furwock_lock_status,
) -> c_int {
    let status = match got {
        Err(errno) => return errno,
        Ok(None) => return ETIMEDOUT,
        Ok(Some(status)) => status,
    };
    if !place.is_null() {
        let how = match status.how {
            How::Fast => furwock_lock_how::FURWOCK_HOW_FAST,
            How::Stolen => furwock_lock_how::FURWOCK_HOW_STOLEN,
            How::Spun => furwock_lock_how::FURWOCK_HOW_SPUN,
            How::Slept => furwock_lock_how::FURWOCK_HOW_SLEPT,
            How::HandedOver => furwock_lock_how::FURWOCK_HOW_HANDED_OVER,
        };
        let Status { sleeps, owner_died, .. } = status;
        // SAFETY: by this function's contract.
        unsafe { place.write(furwock_lock_status { how, sleeps, owner_died }) };
    }
    if status.owner_died { EOWNERDEAD } else { 0 }
}
