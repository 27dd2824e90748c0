//! Points in time.

use core::ffi::c_int;
use engine::{Clock, Deadline};
use libc::{EINVAL, clockid_t, timespec};

/// CLOCK_REALTIME, by a name that needs no feature-test macro.
pub const FURWOCK_CLOCK_REALTIME: clockid_t = 0;

/// CLOCK_MONOTONIC, by a name that needs no feature-test macro.
pub const FURWOCK_CLOCK_MONOTONIC: clockid_t = 1;

const _: () = assert!(FURWOCK_CLOCK_REALTIME == libc::CLOCK_REALTIME);
const _: () = assert!(FURWOCK_CLOCK_MONOTONIC == libc::CLOCK_MONOTONIC);

/// A point in time at which a wait gives up. Waits take it by pointer; NULL waits as long as it
/// takes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct furwock_deadline {
    /// CLOCK_MONOTONIC, or CLOCK_REALTIME: then the deadline moves when the clock is set.
    pub clock: clockid_t,
    /// The point in time, counted from the clock's zero. A negative time has passed.
    pub at: timespec,
}

/// The deadline that many nanoseconds from now, on CLOCK_MONOTONIC.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_after_ns(nanoseconds: u64) -> furwock_deadline {
    let mut at = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; the clock exists on every kernel.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut at) };
    // A u64 of nanoseconds is less than 585 years: no overflow.
    at.tv_sec += (nanoseconds / NANOS_A_SECOND) as i64;
    at.tv_nsec += (nanoseconds % NANOS_A_SECOND) as i64;
    if at.tv_nsec >= NANOS_A_SECOND as i64 {
        at.tv_sec += 1;
        at.tv_nsec -= NANOS_A_SECOND as i64;
    }
    furwock_deadline { clock: libc::CLOCK_MONOTONIC, at }
}

const NANOS_A_SECOND: u64 = 1_000_000_000;

/// The engine's deadline for C's; `EINVAL` for another clock, or nanoseconds out of range.
///
/// # Safety
/// NULL, or a pointer to a deadline.
#[inline]
pub(crate) unsafe fn deadline(until: *const furwock_deadline) -> Result<Option<Deadline>, c_int> {
    // SAFETY: by this function's contract.
    let Some(until) = (unsafe { until.as_ref() }) else { return Ok(None) };
    let clock = match until.clock {
        FURWOCK_CLOCK_MONOTONIC => Clock::Monotonic,
        FURWOCK_CLOCK_REALTIME => Clock::Realtime,
        _ => return Err(EINVAL),
    };
    Deadline::at(clock, until.at.tv_sec, until.at.tv_nsec).map(Some).ok_or(EINVAL)
}

/// C's result of a call without a value: 0, or the errno.
#[inline]
pub(crate) fn errno_of(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(0)
}
