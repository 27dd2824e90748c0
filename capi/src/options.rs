//! Options for taking a lock, and how it was taken.

use crate::deadline::{deadline, furwock_deadline};
use core::ffi::{c_int, c_uint};
use core::time::Duration;
use engine::lock::{How, Options, Status};
use libc::{EINVAL, EOWNERDEAD, ETIMEDOUT};

/// A flag of furwock_lock_options: doesn't take the lock ahead of a waiter that has been woken for
/// it. The caller still takes a free lock that no other thread is about to take.
pub const FURWOCK_NO_STEAL: c_uint = 1;

/// A flag of furwock_lock_options: sleeps without spinning first.
pub const FURWOCK_NO_SPIN: c_uint = 2;

/// A flag of furwock_lock_options: checks, while waiting, whether the thread that holds the lock
/// has ended without releasing it, and takes the lock over if so. The call then returns EOWNERDEAD
/// with the lock held: what it protects may be inconsistent.
///
/// A waiter checks about every 20 ms. A new thread that got the dead one's kernel id is taken for
/// it as long as it lives; a dead reader can't be found, since the lock doesn't record readers'
/// ids.
pub const FURWOCK_OWNER_DEATH: c_uint = 4;

const FLAGS: c_uint = FURWOCK_NO_STEAL | FURWOCK_NO_SPIN | FURWOCK_OWNER_DEATH;

/// How one call takes a lock. NULL, or zero bytes, means what the plain call does.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct furwock_lock_options {
    /// When to give up; NULL: never.
    pub until: *const furwock_deadline,
    /// How long to wait, from the first sleep on, before asking for a hand-off: the lock then goes
    /// to the first waiter in the queue. 0: the plain call's 5 ms. Where a mutex's holders sleep or
    /// yield, a thread with 5 ms at most asks as soon as it was woken in vain, or once it was 16
    /// times if the program keeps all its processors busy; with 5 ms not where eight wakes in a row
    /// were in vain.
    pub hand_off_after_ns: u64,
    /// FURWOCK_NO_STEAL, FURWOCK_NO_SPIN, FURWOCK_OWNER_DEATH, or none.
    pub flags: c_uint,
}

/// The way by which a lock was got.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum furwock_lock_how {
    /// It was free, and no thread waited for it.
    FURWOCK_HOW_FAST,
    /// It was free, though others waited for it or had just had it: the caller overtook them.
    FURWOCK_HOW_STOLEN,
    /// The caller spun until it was free; at a rwlock, or on the only processor, it may have
    /// yielded.
    FURWOCK_HOW_SPUN,
    /// The caller slept, and took it once it ran again.
    FURWOCK_HOW_SLEPT,
    /// It was handed to the caller as it slept; a reader that slept and was let in gets this, too.
    FURWOCK_HOW_HANDED_OVER,
}

/// How one call got a lock. It costs nothing extra, and is stored only if the call got the lock.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct furwock_lock_status {
    /// The way.
    pub how: furwock_lock_how,
    /// How often the caller slept while it waited.
    pub sleeps: u32,
    /// Its owner had ended without releasing it (FURWOCK_OWNER_DEATH).
    pub owner_died: bool,
}

/// The engine's options for C's; `EINVAL` for an unknown flag or a malformed deadline.
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
