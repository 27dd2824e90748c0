//! How long, and how gently, a waiter spins; what a thread learns of how short sections are.

use super::learnt::{self, contended_ns, short_spells};
use crate::lot;
use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;

/// Pauses between two probes, about 0.1 us. A probe takes the cache line away from the holder, and
/// one that comes late costs only its own delay.
const PAUSES: u32 = 8;

/// Pauses before the first probe of a thread that meets short sections: some 8 us. Threads that
/// take a lock in turn for a few instructions do nothing but move its cache line: the longer one
/// leaves the other alone with it, the better for both.
const MANY_PAUSES: u32 = 600;

/// Contentions that follow one another within that time are a thread's that does little between and
/// inside of them.
const SHORT_NS: u64 = 800;

/// So many of them in a row show that sections are short.
const SURE: u32 = 4;

/// One in so many spells is a plain one, so that the next shows how things are now.
const PLAIN_SPELLS: u32 = 16;

/// Probes before the clock is looked at.
const BLIND_PROBES: u32 = 4;

/// One spell of spinning.
pub(super) struct Spin {
    probes: u32,
    ends_ns: u64,
    budget_ns: u64,
    first_pauses: u32,
}

impl Spin {
    /// A plain spell, that long at most.
    pub(super) fn new(budget_ns: u64) -> Self {
        Self { probes: 0, ends_ns: 0, budget_ns, first_pauses: PAUSES }
    }

    /// A spell that begins as the thread has learnt: after a plain spell, the time since that one
    /// began says whether sections are short.
    pub(super) fn learnt(budget_ns: u64) -> Self {
        let mut spin = Self::new(budget_ns);
        let Some(thread) = lot::own().filter(|_| !cfg!(any(loom, shuttle))) else { return spin };
        let notes = &thread.notes;
        let (contended_ns, short_spells) = (contended_ns(notes), short_spells(notes));
        let now = monotonic_ns();
        let interval = now.saturating_sub(contended_ns.load(Ordering::Relaxed));
        contended_ns.store(now, Ordering::Relaxed);
        let spells = learnt::spells(notes).load(Ordering::Relaxed).wrapping_add(1);
        learnt::spells(notes).store(spells, Ordering::Relaxed);
        let mut short = short_spells.load(Ordering::Relaxed);
        if short < SURE || spells % PLAIN_SPELLS == 1 {
            short = if interval < SHORT_NS { (short + 1).min(SURE) } else { 0 };
            short_spells.store(short, Ordering::Relaxed);
        }
        if short == SURE && !spells.is_multiple_of(PLAIN_SPELLS) {
            spin.first_pauses = MANY_PAUSES;
        }
        spin
    }

    /// Whether the next pause is the long one.
    pub(super) fn begins_with_long_pause(&self) -> bool {
        self.probes == 0 && self.first_pauses == MANY_PAUSES
    }

    /// Pauses before the next probe. False when it is time to sleep.
    pub(super) fn pause(&mut self) -> bool {
        self.probes += 1;
        if cfg!(any(loom, shuttle)) {
            // One probe more: a model has no time, only order.
            return self.probes == 1;
        }
        for _ in 0..if self.probes == 1 { self.first_pauses } else { PAUSES } {
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
