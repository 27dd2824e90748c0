//! How long, and how gently, a waiter spins.

use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;

/// A spinner's patience: about twice what a sleep and a wake across processors take (locks.md
/// measured 10 to 15 us from wake to run).
pub(super) const BUDGET_NS: u64 = 25_000;

/// The same where a lock is mostly read. There a preempted reader may be what is waited for, who needs
/// the processor.
pub(super) const RWLOCK_BUDGET_NS: u64 = 10_000;

/// Pauses between two probes: 0.2 to 0.35 us. A probe takes the cache line away from the holder, and
/// one that comes late costs only its own delay.
const PAUSES: u32 = 16;

/// Pauses before the first probe. Two threads that take a lock in turn for a few instructions do
/// nothing but move its cache line: the longer one leaves the other alone with it, the better.
const FIRST_PAUSES: u32 = 32;

/// Probes before the clock is looked at.
const BLIND_PROBES: u32 = 4;

/// One spell of spinning.
pub(super) struct Spin {
    probes: u32,
    ends_ns: u64,
    budget_ns: u64,
}

impl Spin {
    pub(super) fn new(budget_ns: u64) -> Self {
        Self { probes: 0, ends_ns: 0, budget_ns }
    }

    /// Pauses before the next probe. False when it is time to sleep.
    pub(super) fn pause(&mut self) -> bool {
        self.probes += 1;
        if cfg!(any(loom, shuttle)) {
            // One probe more: a model has no time, only order.
            return self.probes == 1;
        }
        for _ in 0..if self.probes == 1 { FIRST_PAUSES } else { PAUSES } {
            spin_loop();
        }
        match self.probes {
            ..BLIND_PROBES => true,
            BLIND_PROBES => {
                self.ends_ns = monotonic_ns() + self.budget_ns;
                true
            }
            _ => monotonic_ns() < self.ends_ns,
        }
    }
}
