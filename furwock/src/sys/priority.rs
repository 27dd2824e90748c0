//! sched(7): real-time priorities.

use super::syscall::syscall;
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether any thread is known to have, or to have had, a real-time policy.
static RANKS: AtomicBool = AtomicBool::new(false);

/// A thread has one.
pub(crate) fn there_are_ranks() {
    RANKS.store(true, Ordering::Relaxed);
}

#[inline]
pub(crate) fn are_there_ranks() -> bool {
    RANKS.load(Ordering::Relaxed)
}

/// `SCHED_DEADLINE` goes before all priorities of the others.
const DEADLINES: u32 = 100;

/// The calling thread's, 1 to 99 for SCHED_FIFO and SCHED_RR, and 0 for time-sharing policies. Asks
/// the kernel with calls that a sandbox may forbid: don't call it on the way to a lock unless
/// priorities are in use.
pub(crate) fn realtime_priority() -> u32 {
    // The kernel's `sched_param`; a C library's may be longer.
    let mut priority: libc::c_int = 0;
    let place = (&raw mut priority).expose_provenance();
    // SAFETY: the first takes nothing but the thread, the second writes one `sched_param`.
    unsafe {
        let policy = syscall(libc::SYS_sched_getscheduler, [0; 6]);
        match policy.map(|policy| policy as i32 & !libc::SCHED_RESET_ON_FORK) {
            Ok(libc::SCHED_FIFO | libc::SCHED_RR) => {
                _ = syscall(libc::SYS_sched_getparam, [0, place, 0, 0, 0, 0]);
                priority as u32
            }
            Ok(libc::SCHED_DEADLINE) => DEADLINES,
            _ => 0,
        }
    }
}
