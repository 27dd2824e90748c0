//! A gate that many threads wait at and one opens, for all of them by one system call.
//!
//! It lies in the node of the first thread that came, which is queued for it; the others find it
//! through that thread. A node's memory is never unmapped, so that they may look at the gate after
//! the first thread, and what they waited on, are gone. (Where there is no memory for a node, the
//! gate lies on the first thread's stack, and that thread stays until the others have left.) The
//! word counts the openings, in steps of two, and is never set back: a thread that knows the number
//! of its opening can't miss it (ORDERING.md, BA-1).

use crate::lot::{Room, Waiter};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{kernel_sleep, kernel_wake_all, spin_loop};
use crate::sys::thread::nap;

/// A thread sleeps, or is about to.
const SLEEPERS: u32 = 1;
const OPENING: u32 = 2;

/// In `users`, of a gate whose memory goes with the wait of the first: the others are counted.
const COUNTED: u32 = 1 << 31;

/// The gate in a node, which has room for its two words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    room: &'static Room,
}

impl Gate {
    pub(super) fn of(waiter: &'static Waiter) -> Self {
        Self { room: &waiter.room }
    }

    /// The gate of a waiter that goes when its wait ends, once its users have left.
    pub(super) fn for_one_wait(waiter: &'static Waiter) -> Self {
        let gate = Self::of(waiter);
        gate.users().store(COUNTED, Ordering::Relaxed);
        gate
    }

    pub(super) fn is_of(self, waiter: &Waiter) -> bool {
        core::ptr::eq(self.room, &waiter.room)
    }

    fn word(self) -> &'static AtomicU32 {
        &self.room.words[0]
    }

    /// How many besides the first may look at it, if they are counted.
    fn users(self) -> &'static AtomicU32 {
        &self.room.words[1]
    }

    /// Counts the caller in, which isn't the first. Under the lock of the bucket that the first is
    /// queued in.
    #[inline]
    pub(super) fn enter(self) {
        if self.users().load(Ordering::Relaxed) != 0 {
            self.users().fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The caller, which entered, doesn't look at it again.
    #[inline]
    pub(super) fn leave(self) {
        if self.users().load(Ordering::Relaxed) != 0 {
            self.users().fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits until all threads that entered have left.
    pub(super) fn wait_for_users(self) {
        while self.users().load(Ordering::Acquire) != COUNTED {
            spin_loop();
            if !cfg!(any(loom, shuttle)) {
                nap();
            }
        }
    }

    /// How often it has been opened, for `wait`. Under the lock of the bucket that the first is
    /// queued in, so that the opening meant is still to come.
    pub(super) fn openings(self) -> u32 {
        self.word().load(Ordering::Relaxed) & !SLEEPERS
    }

    /// Whether it has been opened since `openings` were counted. Acquires what came before.
    #[inline]
    pub(super) fn is_open(self, openings: u32) -> bool {
        self.word().load(Ordering::Acquire) & !SLEEPERS != openings
    }

    /// Waits for the opening that follows after `openings`. Acquires what came before it.
    #[inline(always)]
    pub(super) fn wait(self, openings: u32) {
        while !self.is_open(openings) {
            let (free, order) = (openings, Ordering::Relaxed);
            let marked = self.word().compare_exchange(free, openings | SLEEPERS, order, order);
            if marked.is_ok() || marked == Err(openings | SLEEPERS) {
                kernel_sleep(self.word(), openings | SLEEPERS, None);
            }
        }
    }

    /// Lets all waiters go on. Called by one thread at a time, the one that took the first waiter
    /// out of its queue.
    pub(super) fn open(self) {
        let publish =
            if mutant::active(Mutant::GateRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        let next = self.openings().wrapping_add(OPENING);
        let slept = self.word().swap(next, publish) & SLEEPERS != 0;
        if slept && !mutant::active(Mutant::GateForgetsSleepers) {
            kernel_wake_all(self.word());
        }
    }
}
