//! A lock that is held for tens of instructions, by threads that may be preempted there: each
//! bucket's, and the pool's.
//!
//! Three states, after the second mutex of Drepper, "Futexes Are Tricky" (2011): a holder that was
//! preempted costs the threads after it a short spin and a sleep, not a time slice of spinning
//! (ORDERING.md, B-1).

use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::const_unless_model;
use crate::prim::mutant::{self, Mutant};
use crate::prim::{adjustable, kernel_wait, kernel_wake_one, spin_loop};
#[cfg(not(any(loom, shuttle)))]
use crate::sys::thread;

/// What the table's buckets are locked with. A model of what is built on the table takes the
/// checker's own mutex instead; `ShortLock` has a model of its own.
#[cfg(not(any(loom, shuttle)))]
pub(crate) use {Held as TableHeld, ShortLock as TableLock};

#[cfg(any(loom, shuttle))]
pub(crate) use crate::prim::{ModelHeld as TableHeld, ModelLock as TableLock};

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_WITH_SLEEPERS: u32 = 2;

/// Probes before a sleep: a few times the longest hold.
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 100 };

/// The lock. Zero is free.
#[derive(Debug)]
pub(crate) struct ShortLock {
    state: AtomicU32,
}

/// Proof of holding; dropping it releases.
#[derive(Debug)]
pub(crate) struct Held<'l>(&'l ShortLock);

impl ShortLock {
    const_unless_model! {
        pub(crate) fn new() -> Self {
            Self { state: AtomicU32::new(FREE) }
        }
    }

    /// A signal handler that came upon its own thread in here, or holding any such lock, would wait
    /// for itself: it asks `may_not_lock` first.
    #[inline]
    pub(crate) fn lock(&self) -> Held<'_> {
        #[cfg(not(any(loom, shuttle)))]
        thread::will_hold();
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slow();
        }
        Held(self)
    }

    /// Takes it if it is free, or soon will be. For a signal handler that came upon its own thread
    /// with another one.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn try_lock(&self) -> Option<Held<'_>> {
        thread::will_hold();
        for _ in 0..adjustable!(SPINS, BucketProbes) {
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            if self.state.compare_exchange(FREE, HELD, success, failure).is_ok() {
                return Some(Held(self));
            }
            spin_loop();
        }
        _ = thread::has_released();
        None
    }

    #[cold]
    fn lock_slow(&self) {
        for _ in 0..adjustable!(SPINS, BucketProbes) {
            spin_loop();
            if self.state.load(Ordering::Relaxed) == FREE
                && self
                    .state
                    .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
        }
        while self.state.swap(HELD_WITH_SLEEPERS, Ordering::Acquire) != FREE {
            kernel_wait(&self.state, HELD_WITH_SLEEPERS, None);
        }
    }

    #[inline]
    fn unlock(&self) {
        if self.state.swap(FREE, Ordering::Release) == HELD_WITH_SLEEPERS
            && !mutant::active(Mutant::BucketUnlockWithoutWake)
        {
            kernel_wake_one(&self.state);
        }
        #[cfg(not(any(loom, shuttle)))]
        if let Some(deferred) = thread::has_released() {
            deferred();
        }
    }

    /// Makes the lock free again in a forked child, whose parent's threads may have held it.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn reset(&self) {
        self.state.store(FREE, Ordering::Relaxed);
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.unlock();
    }
}
