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

mod any;
mod bucket;
mod bucket_lock;
mod claim;
#[cfg(not(any(loom, shuttle)))]
mod deferred;
mod ended;
mod gate;
mod hash;
mod key;
mod parker;
mod patience;
#[cfg(not(any(loom, shuttle)))]
mod pool;
mod queue;
pub(crate) mod slots;
mod table;
mod task;
mod thread;
mod wait;
mod waiter;
mod wake_list;

pub(crate) use any::{AnyEnded, Group};
pub(crate) use bucket::{Locked, LockedPair, announce, hint, is_empty, lock, lock_pair};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use deferred::{leave_wake, may_not_lock, wake_instead};
pub(crate) use gate::Gate;
pub(crate) use key::Key;
pub(crate) use parker::{Signals, Until};
pub(crate) use patience::look_first;
pub(crate) use table::processors;
pub(crate) use task::{Sink, TaskNode, TaskWait};
#[cfg(any(loom, shuttle))]
pub(crate) use thread::Thread;
pub(crate) use thread::{
    Node, are_there_ranks, forget_interrupt, interrupt as interrupt_thread, node, own, rank, tid,
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use thread::{abandon_waits, end_waits, is_waiting};
pub(crate) use wait::{Ended, Place, Wait};
pub(crate) use waiter::{ANY, Debt, From, Verdict, Waiter};
#[cfg(all(test, loom))]
pub(crate) use {
    bucket_lock::FutexLock,
    ended::{Fate, Owner},
    parker::{Parker, Woke},
};

/// Makes the table and the calling thread's node now. Whether the kernel gave memory for both: without
/// it waits are slow.
pub(crate) fn prepare() -> bool {
    table::bucket(Key::word(0));
    tid();
    let has_node = own().is_some();
    has_node && table::has_full_size()
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
