//! `sem_*` of unnamed private semaphores.
//!
//! `sem_init` and `sem_getvalue` are glibc's: the format is the same. glibc also serves named and
//! process-shared semaphores, which have a flag in their third word.

use crate::layout::Semaphore;
use crate::recording::{self, Ended, Kind, Wait};
use crate::{cancel, glibc, time};
use core::ffi::c_int;
use furwock::TooManyPermits;
use furwock::unstable::semaphore::{PermitWaited, acquire_interruptible, release_quietly};
use furwock::unstable::signals::closed;
use furwock::{Clock, Deadline};
use libc::{EAGAIN, EINTR, EINVAL, EOVERFLOW, ETIMEDOUT};
use libc::{clockid_t, sem_t, timespec};

/// POSIX `sem_wait`. A cancellation point, even if it doesn't wait.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_wait(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the program's semaphore.
    let this = unsafe { Semaphore::from_ptr(semaphore) };
    if !this.is_ours() {
        recording::left_to_glibc();
        // SAFETY: the program's semaphore.
        return unsafe { glibc::sem_wait(semaphore) };
    }
    if recording::orders() {
        recording::waits_for(this, Kind::Semaphore, 0, false);
    }
    // SAFETY: may unwind this frame, which has nothing to drop.
    unsafe { glibc::pthread_testcancel() };
    if this.raw.try_acquire() {
        recording::count(this, Kind::Semaphore);
        return 0;
    }
    sem_wait_slow(this, None)
}

/// POSIX `sem_timedwait`: a deadline on CLOCK_REALTIME, which is checked only if there is no
/// permit. A cancellation point, even if it doesn't wait.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_timedwait(semaphore: *mut sem_t, at: *const timespec) -> c_int {
    // SAFETY: the program's semaphore and timespec.
    unsafe {
        if Semaphore::from_ptr(semaphore).is_ours() {
            wait_until(semaphore, Clock::Realtime, at)
        } else {
            recording::left_to_glibc();
            glibc::sem_timedwait(semaphore, at)
        }
    }
}

/// POSIX.1-2024 `sem_clockwait`. A cancellation point, even if it doesn't wait.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the program's semaphore and timespec.
    unsafe {
        if !Semaphore::from_ptr(semaphore).is_ours() {
            recording::left_to_glibc();
            return glibc::sem_clockwait(semaphore, clock, at);
        }
        match time::clock(clock) {
            Some(clock) => wait_until(semaphore, clock, at),
            None => failed(EINVAL),
        }
    }
}

/// POSIX `sem_trywait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_trywait(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the program's semaphore.
    let this = unsafe { Semaphore::from_ptr(semaphore) };
    if !this.is_ours() {
        recording::left_to_glibc();
        // SAFETY: the program's semaphore.
        return unsafe { glibc::sem_trywait(semaphore) };
    }
    recording::count(this, Kind::Semaphore);
    if this.raw.try_acquire() { 0 } else { failed(EAGAIN) }
}

/// POSIX `sem_post`. Async-signal-safe: a handler that has interrupted its thread inside the engine
/// leaves the wake to that thread.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_post(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the program's semaphore.
    let this = unsafe { Semaphore::from_ptr(semaphore) };
    if !this.is_ours() {
        // SAFETY: the program's semaphore.
        return unsafe { glibc::sem_post(semaphore) };
    }
    if recording::orders() {
        recording::wakes(this, Kind::Semaphore);
    }
    match release_quietly(&this.raw) {
        Ok(true) => 0,
        Ok(false) => post_slow(this),
        Err(TooManyPermits) => failed(EOVERFLOW),
    }
}

/// There are waiters: the thread that added the permit has to wake one, whatever happens.
#[cold]
#[inline(never)]
fn post_slow(semaphore: &Semaphore) -> c_int {
    match closed(|| semaphore.raw.release()) {
        Ok(()) => 0,
        Err(TooManyPermits) => failed(EOVERFLOW),
    }
}

/// # Safety
/// The program's semaphore and timespec.
#[inline(always)]
unsafe fn wait_until(semaphore: *mut sem_t, clock: Clock, at: *const timespec) -> c_int {
    // SAFETY: by this function's contract. The frames have nothing to drop.
    unsafe {
        let this = Semaphore::from_ptr(semaphore);
        if recording::orders() {
            recording::waits_for(this, Kind::Semaphore, 0, true);
        }
        glibc::pthread_testcancel();
        if this.raw.try_acquire() {
            recording::count(this, Kind::Semaphore);
            return 0;
        }
        match time::deadline(clock, at) {
            Some(deadline) => sem_wait_slow(this, Some(&deadline)),
            None => failed(EINVAL),
        }
    }
}

/// Waits for a permit, or until a signal handler has run. Acts on a cancellation while the thread
/// is in no queue; if a permit came first, it is kept, and the cancellation stays pending until the
/// next cancellation point.
#[cold]
fn sem_wait_slow(semaphore: &Semaphore, deadline: Option<&Deadline>) -> c_int {
    let acquire = |_| {
        let wait = Wait::begin(semaphore, Kind::Semaphore, || 0);
        let ended = closed(|| acquire_interruptible(&semaphore.raw, deadline));
        wait.end(|| match ended {
            PermitWaited::TimedOut => Ended::TimedOut,
            _ => Ended::Over,
        });
        ended
    };
    let may_be_cancelled =
        |ended: &PermitWaited| matches!(ended, PermitWaited::Interrupted | PermitWaited::Signalled);
    let mut ended = PermitWaited::Interrupted;
    while ended == PermitWaited::Interrupted {
        // SAFETY: may unwind this frame, which has nothing to drop.
        ended = unsafe { cancel::point(acquire, may_be_cancelled) };
    }
    match ended {
        PermitWaited::TimedOut => failed(ETIMEDOUT),
        PermitWaited::Signalled => failed(EINTR),
        PermitWaited::Permit | PermitWaited::Interrupted => 0,
    }
}

#[cold]
fn failed(errno: c_int) -> c_int {
    glibc::failed(errno) as c_int
}
