//! The wait-queue table: which threads wait at which address, in order.
//!
//! An address picks a bucket; a bucket is a lock and a queue. A waiter counts itself in, takes the
//! bucket lock, makes sure that it still has reason to wait, links its node and sleeps on a word of
//! its own. A waker takes the bucket lock, *chooses* waiters (unlinks them and writes a verdict) or
//! moves them to another address, and notifies the chosen ones after it has dropped the lock.
//!
//! One rule carries everything: **a waiter that was chosen is notified exactly once, and leaves
//! only when it has been.** So nothing touches a node after its notification, and a notification
//! never reaches a wait that it wasn't meant for.

mod bucket;
mod node;
mod wait;

pub(crate) use bucket::{
    Locked, LockedPair, Queued, advice, announce, is_empty, is_single, lock, lock_pair, processors,
    seem_queued, seems_empty, seems_single,
};
#[cfg(all(test, shuttle))]
pub(crate) use node::forget_ended_executions;
pub(crate) use node::{
    ANY, Debt, Fate, From, Held, Key, Notes, Owner, Room, Signals, Sink, Until, Verdict, Waiter,
    are_there_ranks, claim, expect, forget_interrupt, interrupt as interrupt_thread,
    known as known_own, known_claim, own, tid,
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use node::{
    Census, Class, PoolLayout, ThreadLayout, caller, can_be_asked_for, is_waiting, names,
};
#[cfg(all(test, loom))]
pub(crate) use node::{Parker, ShortLock, Wakes, Woke};
pub(crate) use wait::{
    AnyEnded, Ended, Group, Node, Place, Stands, TaskNode, TaskWait, Wait, Watch, node,
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use wait::{
    Long, Watcher, abandon_waits, end_waits, for_each_wait, leave_wake, may_not_lock, waiters,
    wake_instead, watch_by,
};

/// Makes the table and the calling thread's node now. Whether the kernel gave memory for both:
/// without it waits are slow.
pub(crate) fn prepare() -> bool {
    let has_table = bucket::prepare();
    tid();
    let has_node = own().is_some();
    has_node && has_table
}

/// Models have no signal handlers.
#[cfg(any(loom, shuttle))]
pub(crate) fn leave_wake(_key: Key, _count: usize, _bitset: u32) -> bool {
    false
}

#[cfg(any(loom, shuttle))]
pub(crate) fn wake_instead(_key: Key, _count: usize, _bitset: u32) -> Option<usize> {
    None
}

#[cfg(any(loom, shuttle))]
pub(crate) fn may_not_lock() -> bool {
    false
}
