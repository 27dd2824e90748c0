//! The wait-queue table: which threads wait at which address, in order.
//!
//! An address picks a bucket; a bucket is a lock and a queue. A waiter counts itself in, takes the
//! bucket lock, makes sure that it still has reason to wait, links its node and sleeps on a word of
//! its own. A waker takes the bucket lock, *chooses* waiters (unlinks them and writes a verdict) or
//! moves them to another address, and notifies the chosen ones after it has dropped the lock.
//!
//! One rule carries everything: **a waiter that was chosen is notified exactly once, and leaves only
//! when it has been.** So nothing touches a node after its notification, and a notification never
//! reaches a wait that it wasn't meant for.

mod bucket;
mod node;
mod wait;

pub(crate) use bucket::locked::{
    Locked, LockedPair, announce, hint, is_empty, lock, lock_pair, patience,
};
pub(crate) use bucket::table::processors;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use node::ended::{Census, Fate, Owner, caller, can_be_asked_for};
#[cfg(any(loom, shuttle))]
pub(crate) use node::ended::{Fate, Owner};
pub(crate) use node::gate::Gate;
pub(crate) use node::key::Key;
pub(crate) use node::parker::{Signals, Until};
#[cfg(any(loom, shuttle))]
pub(crate) use node::thread::Thread;
pub(crate) use node::thread::{
    Node, are_there_ranks, forget_interrupt, interrupt as interrupt_thread, node, own, tid,
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use node::thread::{abandon_waits, end_waits, is_waiting, watch_forks};
pub(crate) use node::waiter::{ANY, Debt, From, Verdict, Waiter};
#[cfg(all(test, loom))]
pub(crate) use node::{
    parker::{Parker, Woke},
    short_lock::FutexLock,
};
pub(crate) use wait::any::{AnyEnded, Group};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use wait::deferred::{leave_wake, may_not_lock, wake_instead};
pub(crate) use wait::one::{Ended, Place, Wait};
pub(crate) use wait::task::{Sink, TaskNode, TaskWait};

/// Makes the table and the calling thread's node now. Whether the kernel gave memory for both: without
/// it waits are slow.
pub(crate) fn prepare() -> bool {
    bucket::table::bucket(Key::word(0));
    tid();
    let has_node = own().is_some();
    has_node && bucket::table::has_full_size()
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
