//! What a waiter is made of: a node, the memory that it lies in, and the thread that it stands for.

mod claim;
mod ended;
mod key;
#[cfg(any(loom, shuttle))]
mod model;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod names;
mod notify;
#[cfg(not(any(loom, shuttle)))]
mod ownership;
mod parker;
#[cfg(not(any(loom, shuttle)))]
mod pool;
mod room;
mod short_lock;
mod sink;
#[cfg(not(any(loom, shuttle)))]
mod thread;
mod verdict;
mod waiter;

#[cfg(any(loom, shuttle))]
use model as thread;

pub(crate) use claim::{Claimed, Counts, MOST_MEMBERS};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use ended::{Census, caller, can_be_asked_for};
pub(crate) use ended::{Fate, Owner};
pub(crate) use key::{Class, Key};
#[cfg(all(test, shuttle))]
pub(crate) use model::forget_ended_executions;
pub(crate) use notify::notify;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use ownership::{is_callers, is_own};
#[cfg(all(test, loom))]
pub(crate) use parker::Parker;
pub(crate) use parker::{Signals, Until, Wakes, Woke};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use pool::{PoolLayout, for_each};
pub(crate) use room::{Notes, Room};
#[cfg(all(test, loom))]
pub(crate) use short_lock::ShortLock;
pub(crate) use short_lock::{TableHeld, TableLock};
pub(crate) use sink::Sink;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use thread::is_waiting;
pub(crate) use thread::{
    are_there_ranks, claim, expect, forget_interrupt, give_back, interrupt, known, known_claim,
    names, note_wake, own, rank, spares, tid,
};
pub(crate) use verdict::{Debt, From, Held, Verdict};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use waiter::ThreadLayout;
pub(crate) use waiter::{ANY, Chosen, NO_WAKE, NodeKind, Thread, Waiter};
