//! The program's deadlines.

use furwock::{Clock, Deadline};

/// The clock that `id` names, if it is one that waits can be counted on.
pub(crate) fn clock(id: libc::clockid_t) -> Option<Clock> {
    match id {
        libc::CLOCK_REALTIME => Some(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Some(Clock::Monotonic),
        _ => None,
    }
}

/// The deadline at `*at`; `None` if its nanoseconds are out of range.
///
/// # Safety
/// `at` points to a timespec.
pub(crate) unsafe fn deadline(clock: Clock, at: *const libc::timespec) -> Option<Deadline> {
    // SAFETY: by this function's contract.
    let at = unsafe { &*at };
    Deadline::at(clock, at.tv_sec, at.tv_nsec)
}
