//! Naps of a mutex's waiter that is woken in vain.
//!
//! Where holders sleep or yield with the lock and take it anew as soon as they have released it,
//! each waiter that a release wakes finds it held: a wake, two switches and a sleep for nothing. A
//! waiter that is woken so, after others before it, goes on to sleep, but by the clock and not in
//! the queue. It keeps the wake that was claimed for it, so that no release wakes another while it
//! naps; when it looks again the lock may be free. Else it naps again, until it asks for the
//! hand-off.
//!
//! If the lock becomes free for good meanwhile, it stays so for the rest of the nap. So a nap is no
//! longer than the waiter has waited already, and 0.8 ms at most; and one that finds the lock free
//! ends them all at that lock, until so many wakes in a row have been in vain again.

use super::spin::VAIN_WAKES;
use crate::lot::{self, Key};
use crate::prim::atomic::Ordering;

/// So many wakes in vain, in a row until now, show that the next ones are in vain, too.
const ENOUGH: u32 = 8;

/// The kernel's timers may be late by as much, unless a thread asks for better ones.
const LEAST_NS: u64 = 50_000;
/// A part of what a waiter waits before it asks for the hand-off.
const MOST_NS: u64 = 800_000;

/// Notes how a woken waiter finds the mutex at `key`.
pub(super) fn learn(key: Key, is_free: bool) {
    let in_vain = &lot::advice(key)[VAIN_WAKES];
    let seen = in_vain.load(Ordering::Relaxed);
    let new = if is_free { 0 } else { (seen + 1).min(ENOUGH) };
    if new != seen {
        in_vain.store(new, Ordering::Relaxed);
    }
}

/// Whether waiters of the mutex at `key` nap.
pub(super) fn are_due(key: Key) -> bool {
    // (A model has no time.)
    !cfg!(any(loom, shuttle)) && lot::advice(key)[VAIN_WAKES].load(Ordering::Relaxed) >= ENOUGH
}

/// How long the next nap is of a waiter that has waited for so long, in nanoseconds.
pub(super) fn length_ns(waited_ns: u64) -> u32 {
    waited_ns.clamp(LEAST_NS, MOST_NS) as u32
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn naps_are_due_after_enough_wakes_in_vain_in_a_row() {
        let place = 0_u64;
        let key = Key::mutex(core::ptr::from_ref(&place).addr());
        let are_due_after = |in_vain: u32| {
            learn(key, true);
            (0..in_vain).for_each(|_| learn(key, false));
            are_due(key)
        };
        // (Another test's lock may be in the same bucket.)
        let mut tries = (0..100).map(|_| {
            [0, ENOUGH - 1, ENOUGH, 1_000].map(are_due_after) == [false, false, true, true]
        });
        assert!(tries.any(|as_expected| as_expected));
        learn(key, true);
        assert!(!are_due(key));
    }

    #[test]
    fn a_nap_is_no_longer_than_the_wait_before_it() {
        for (waited_ns, nap_ns) in [
            (0, LEAST_NS),
            (LEAST_NS + 1, LEAST_NS + 1),
            (MOST_NS - 1, MOST_NS - 1),
            (u64::MAX, MOST_NS),
        ] {
            assert_eq!(u64::from(length_ns(waited_ns)), nap_ns);
        }
    }
}
