//! Where a thread sleeps: a word of its own, and the kernel's futex beneath it.
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | EMPTY | awake, not yet notified | the thread, before it queues itself; whoever interrupts it |
//! | SLEEPING | in the kernel, or about to be | the thread |
//! | NOTIFIED | chosen; what the waker wrote may be read | the one waker that chose it |

use crate::prim::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{Sleep, full_fence, kernel_wait, kernel_wake_one, spin_loop};
use crate::sys::clock::Deadline;

const EMPTY: u32 = 0;
const SLEEPING: u32 = 1;
const NOTIFIED: u32 = 2;

/// Probes before the thread sleeps: about a microsecond, enough for a waker that is already on its
/// way and less than a sleep costs.
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 3 };

/// Why a thread came out of `sleep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woke {
    Notified,
    TimedOut,
    Interrupted,
}

/// One thread's place to sleep.
#[derive(Debug)]
pub(crate) struct Parker {
    state: AtomicU32,
    interrupted: AtomicBool,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(EMPTY), interrupted: AtomicBool::new(false) }
    }

    /// Makes ready for one wait. Nobody can notify before the waiter is linked, so that the bucket
    /// lock publishes this.
    #[inline]
    pub(crate) fn prepare(&self) {
        self.state.store(EMPTY, Ordering::Relaxed);
    }

    /// Sleeps until notified, until the deadline, or, where the caller asks for it, until somebody
    /// interrupts. May be called again after anything but `Notified`.
    pub(crate) fn sleep(&self, deadline: Option<&Deadline>, interruptible: bool) -> Woke {
        for _ in 0..SPINS {
            if self.is_notified() {
                return Woke::Notified;
            }
            spin_loop();
        }
        loop {
            let slept =
                self.state.compare_exchange(EMPTY, SLEEPING, Ordering::Relaxed, Ordering::Acquire);
            if slept == Err(NOTIFIED) {
                return Woke::Notified;
            }
            if interruptible {
                // Against `interrupt`, which stores its flag and then looks for SLEEPING (O-4).
                full_fence();
                if self.interrupted.load(Ordering::Relaxed) {
                    return self.awake_as(Woke::Interrupted);
                }
            }
            let sleep = kernel_wait(&self.state, SLEEPING, deadline);
            if self.is_notified() {
                return Woke::Notified;
            }
            if sleep == Sleep::TimedOut {
                return self.awake_as(Woke::TimedOut);
            }
        }
    }

    /// Whether the one notification has come. Acquires what the waker wrote before it (O-2).
    #[inline]
    pub(crate) fn is_notified(&self) -> bool {
        self.state.load(Ordering::Acquire) == NOTIFIED
    }

    fn awake_as(&self, why: Woke) -> Woke {
        match self.state.compare_exchange(SLEEPING, EMPTY, Ordering::Relaxed, Ordering::Acquire) {
            Err(NOTIFIED) => Woke::Notified,
            _ => why,
        }
    }

    /// Lets the thread go on. **The last permitted touch**: once the swap is done the thread may
    /// have returned, ended, or be waiting for something else; all that follows is a wake by
    /// address, which a later sleeper there tolerates.
    #[inline]
    pub(crate) fn notify(&self) {
        let ordering = if mutant::active(Mutant::NotifyRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        if self.state.swap(NOTIFIED, ordering) == SLEEPING
            && !mutant::active(Mutant::NotifyWithoutWake)
        {
            kernel_wake_one(&self.state);
        }
    }

    /// Wakes the thread from an interruptible sleep without choosing it.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        if !mutant::active(Mutant::InterruptWithoutFence) {
            full_fence();
        }
        let asleep =
            self.state.compare_exchange(SLEEPING, EMPTY, Ordering::Relaxed, Ordering::Relaxed);
        if asleep.is_ok() {
            kernel_wake_one(&self.state);
        }
    }

    /// Whether an interrupt came; forgets it.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) && self.interrupted.swap(false, Ordering::Relaxed)
    }
}
