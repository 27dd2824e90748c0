//! The clock of the record: the processor's counter, where the command that made the file found it
//! sound, and CLOCK_MONOTONIC otherwise.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::{AtomicBool, Ordering};

use super::kernel::call;

static COUNTER: AtomicBool = AtomicBool::new(false);

/// Nanoseconds in a second: so many ticks mean CLOCK_MONOTONIC.
const NANOSECONDS: u64 = 1_000_000_000;

/// How many ticks a microsecond has.
static PER_MICROSECOND: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(1000);

/// Sets the clock.
pub(super) fn set(ticks_per_second: u64) {
    PER_MICROSECOND.store((ticks_per_second / 1_000_000).max(1), Ordering::Relaxed);
    COUNTER.store(ticks_per_second != NANOSECONDS, Ordering::Relaxed);
}

/// So many microseconds in ticks.
#[inline]
pub(super) fn microseconds(count: u64) -> u64 {
    count * PER_MICROSECOND.load(Ordering::Relaxed)
}

/// So many ticks in nanoseconds.
fn in_nanoseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1000) / PER_MICROSECOND.load(Ordering::Relaxed)
}

/// The recorder has worked since `began`, at a contention: the locks don't take that for the
/// program's sections.
#[inline]
pub(super) fn worked_since(began: u64) {
    furwock::unstable::mutex::leave_out(|| in_nanoseconds(now().saturating_sub(began)));
}

/// Now, if `worked_since` will ask for it.
#[inline]
pub(super) fn if_work_counts() -> Option<u64> {
    let mut began = None;
    furwock::unstable::mutex::leave_out(|| {
        began = Some(now());
        0
    });
    began
}

/// Now, in ticks.
#[inline]
pub(super) fn now() -> u64 {
    if COUNTER.load(Ordering::Relaxed) {
        // SAFETY: every x86-64 has it. (A process may forbid itself to read it, by prctl; then the
        // command wouldn't have found it sound.)
        unsafe { _rdtsc() }
    } else {
        nanoseconds(libc::CLOCK_MONOTONIC)
    }
}

/// A clock of the kernel's, in nanoseconds.
pub(super) fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec. (Doesn't fail with these clocks, so that errno stays; not the
    // system call, which would take ten times as long.)
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        let to = (&raw mut time).expose_provenance();
        // SAFETY: as above.
        _ = unsafe { call(libc::SYS_clock_gettime, [clock as usize, to, 0, 0, 0, 0]) };
    }
    time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64
}
