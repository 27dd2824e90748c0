//! sched_yield(2), as long as no sandbox may forbid it, and whether that is so.

use super::slot::slot;
#[cfg(not(any(loom, shuttle)))]
use super::syscall::syscall;
use core::sync::atomic::{AtomicBool, Ordering};

static MAY_CALL: AtomicBool = AtomicBool::new(true);

/// No call is made from here on.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn forgo() {
    MAY_CALL.store(false, Ordering::Relaxed);
}

/// Whether calls may be made that a program's sandbox needn't know.
pub(crate) fn may_call() -> bool {
    MAY_CALL.load(Ordering::Relaxed)
}

/// Lets the other threads in this processor's queue run first. `false` if that isn't allowed, as
/// it isn't once a filter has refused it, or if a handler of this thread's waits for the end of its
/// call (`signals`).
pub(crate) fn sched_yield() -> bool {
    #[cfg(simulated)]
    if machine::is_simulated() {
        machine::yield_now();
        return true;
    }
    may_call() && !slot().has_signals.get() && call()
}

#[cfg(not(any(loom, shuttle)))]
fn call() -> bool {
    // SAFETY: it takes nothing, and changes nothing of the caller's.
    let was_allowed = unsafe { syscall(libc::SYS_sched_yield, [0; 6]) }.is_ok();
    if !was_allowed {
        forgo();
    }
    was_allowed
}

/// A model has no processors.
#[cfg(any(loom, shuttle))]
fn call() -> bool {
    false
}
