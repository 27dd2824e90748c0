//! A barrier that its last arrival opens.
//!
//! | arrived | by | to |
//! |---|---|---|
//! | 0 | an arrival | 1, and its node is queued as the first; it waits at the node's gate |
//! | n < count - 1 | an arrival | n + 1, and it waits at the gate of the first |
//! | count - 1 | an arrival | 0; the first is dismissed, the gate opened; the arrival leads |
//!
//! Each step is taken with the bucket locked, and the barrier isn't looked at after it: it may be
//! freed, or serve the next round, before those that were let go have run. They look at the gate,
//! whose memory stays. One system call wakes all, which costs less than one each: the woken threads
//! have nothing to block on afterwards. ORDERING.md, BA-1.

use super::gate::Gate;
use super::patience::spin_first;
use super::yields::{self, Balance};
use crate::lot::{self, Key, Waiter};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::const_unless_model;
use crate::prim::mutant::{self, Mutant};

/// What yields before a sleep came to.
static BALANCE: Balance = Balance::new();

/// Threads wait for each other here. The caller keeps in mind how many they are.
///
/// Zero is a barrier at which no thread has arrived. Its memory may be freed as soon as a round is
/// complete and no other has begun.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct RawBarrier {
    /// Written under the bucket lock.
    arrived: AtomicU32,
}

/// How an arrival goes on.
enum Arrival {
    /// Once the gate has been opened again.
    Waits { gate: Gate, openings: u32 },
    /// As the leader, which opens the gate, if there is one.
    Leads(Option<Gate>),
}

impl RawBarrier {
    const_unless_model! {
        /// A barrier at which no thread has arrived.
        pub fn new() -> Self {
            Self { arrived: AtomicU32::new(0) }
        }
    }

    /// A barrier whose memory says anything.
    #[cfg(all(test, shuttle))]
    pub(crate) fn saying(word: u32) -> Self {
        Self { arrived: AtomicU32::new(word) }
    }

    /// How many have arrived.
    #[cfg(all(test, shuttle))]
    pub(crate) fn arrived(&self) -> u32 {
        self.arrived.load(Ordering::Relaxed)
    }

    /// Waits until `count` threads, the caller among them, have called this. Returns true to one of
    /// them, the last to arrive.
    ///
    /// All that they did before is visible to all of them after it. Every call of a round gives the
    /// same `count`; 0 is taken for 1. A thread that comes while a round is complete belongs to the
    /// next.
    pub fn wait(&self, count: u32) -> bool {
        if count <= 1 {
            return true;
        }
        // Until the gate is open: others look at it through this thread's node.
        let node = if lot::may_not_lock() { None } else { lot::node() };
        match &node {
            Some(node) => self.wait_as(node.waiter(), count),
            None => self.wait_without_node(count),
        }
    }

    /// The kernel has no memory for a node. One on the stack does instead: if others come to its
    /// gate, it stays until they have left.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_without_node(&self, count: u32) -> bool {
        let waiter = Waiter::new();
        // SAFETY: the wait ends with the waiter in no queue, and its gate is known to its users
        // only, which are waited for. (The leader, once it has opened it, needs its address alone.)
        let waiter = unsafe { &*core::ptr::from_ref(&waiter) };
        let gate = Gate::for_one_wait(waiter);
        let leads = self.wait_as(waiter, count);
        gate.wait_for_users();
        leads
    }

    #[inline(always)]
    fn wait_as(&self, waiter: &'static Waiter, count: u32) -> bool {
        let key = self.key();
        match self.arrive(key, count, waiter) {
            Arrival::Leads(gate) => {
                if let Some(gate) = gate {
                    gate.open();
                }
                true
            }
            Arrival::Waits { gate, openings } => {
                // With more threads than processors, a thread that isn't running is waited for.
                let may_look = count as usize <= lot::processors();
                let is_open = || gate.is_open(openings);
                let has_seen = (may_look && spin_first(key, is_open, || false))
                    || yields::once(&BALANCE, is_open);
                if !has_seen {
                    gate.wait(openings);
                }
                if gate.is_of(waiter) {
                    waiter.set_queued_nowhere();
                } else {
                    gate.leave();
                }
                false
            }
        }
    }

    fn arrive(&self, key: Key, count: u32, waiter: &'static Waiter) -> Arrival {
        if mutant::active(Mutant::ArrivalBeforeQueue) {
            self.arrived.fetch_add(1, Ordering::Relaxed);
        }
        let mut bucket = lot::announce(key);
        let arrived = self.arrived.load(Ordering::Relaxed)
            + if mutant::active(Mutant::ArrivalBeforeQueue) { 0 } else { 1 };
        if arrived >= count {
            bucket.retract();
            self.arrived.store(0, Ordering::Relaxed);
            return Arrival::Leads(bucket.remove_first(key).map(Gate::of));
        }
        self.arrived.store(arrived, Ordering::Relaxed);
        let gate = match bucket.first(key).map(|first| Gate::of(first.waiter())) {
            Some(gate) => {
                bucket.retract();
                gate.enter();
                gate
            }
            // (In a forked child there may be none for threads that arrived before.)
            None => {
                // SAFETY: the caller's own node, which serves this wait and no other.
                unsafe { bucket.enqueue_without_wakes(waiter, key) };
                Gate::of(waiter)
            }
        };
        Arrival::Waits { gate, openings: gate.openings() }
    }

    fn key(&self) -> Key {
        Key::barrier(core::ptr::from_ref(&self.arrived).addr())
    }
}
