//! How long, and how gently, a waiter spins.

use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;

/// A spinner's patience: about twice what a sleep and a wake across processors take (locks.md
/// measured 10 to 15 us from wake to run).
const BUDGET_NS: u64 = 25_000;

/// Pauses between two probes, doubled up to a limit that amounts to about 0.7 us: a probe moves the
/// holder's cache line, and one that comes late costs only its own delay.
const MOST_PAUSES: u32 = 16;

/// One spell of spinning.
pub(super) struct Spin {
    ends_ns: u64,
    pauses: u32,
}

impl Spin {
    pub(super) fn new() -> Self {
        Self { ends_ns: monotonic_ns() + BUDGET_NS, pauses: 1 }
    }

    /// Pauses before the next probe. False when it is time to sleep.
    pub(super) fn pause(&mut self) -> bool {
        if cfg!(any(loom, shuttle)) {
            // One probe more: a model has no time, only order.
            self.pauses += 1;
            return self.pauses == 2;
        }
        for _ in 0..self.pauses {
            spin_loop();
        }
        if self.pauses < MOST_PAUSES {
            self.pauses *= 2;
            return true;
        }
        monotonic_ns() < self.ends_ns
    }
}
