//! A lock's spinner on the only processor.
//!
//! It can't pause until the lock is free: the holder doesn't run meanwhile. So it yields. A holder
//! that has itself yielded with the lock goes on then, and takes the lock again and again as long
//! as the spinner looks, without a thread to wake at each release; other waiters sleep until the
//! spinner is done.
//!
//! Such a yield costs two switches, so it is of use only if the lock was released meanwhile. Where
//! the holder sleeps, yields more than once, or waits for another program to leave the processor,
//! it wasn't. The word looks the same before and after: so those that take a free lock past a
//! spinner say so, in the bucket (`note_steal`).

use super::balance::Balance;
use super::{pays_by, yield_by};
use crate::lock::spin::STEALS;
use crate::lock::trials;
use crate::lot::{self, Key};
use crate::prim::atomic::Ordering;

/// How often a waiter yields before it sleeps, at most.
const MOST: u32 = 32;

static BALANCE: Balance = Balance::new();

/// The yields of one attempt to take a lock.
#[derive(Clone, Copy, Debug)]
pub(in crate::lock) struct Spinner {
    left: u32,
}

impl Spinner {
    pub(in crate::lock) fn new() -> Self {
        Self { left: MOST }
    }

    /// Whether the waiter may yield once more. Asked last, by a caller that nothing else keeps from
    /// it.
    pub(in crate::lock) fn may_go_on(&mut self) -> bool {
        let may = self.left != 0 && pays_by(&BALANCE);
        if !may {
            self.left = 0;
        }
        may
    }

    /// Lets others run, as the spinner for the lock at `key`. It was the last time unless they have
    /// used the lock, and soon left the processor again.
    pub(in crate::lock) fn go_on(&mut self, key: Key, is_free: impl FnOnce() -> bool) {
        let steals = || lot::advice(key)[STEALS].load(Ordering::Relaxed);
        let before = steals();
        self.left = match yield_by(&BALANCE, || is_free() || steals() != before) {
            Some((true, false)) => self.left - 1,
            _ => 0,
        };
    }
}

/// A thread without a role has taken the lock at `key` past its spinner. (Counted by occasions, as
/// what spells of spinning came to would be: there may be a second processor one day.)
#[cold]
pub(in crate::lock) fn note_steal(key: Key) {
    if lot::seems_single() && !cfg!(any(loom, shuttle, simulated)) {
        let steals = &lot::advice(key)[STEALS];
        let now = steals.load(Ordering::Relaxed).wrapping_add(trials::ONE_OCCASION);
        steals.store(now, Ordering::Relaxed);
    }
}
