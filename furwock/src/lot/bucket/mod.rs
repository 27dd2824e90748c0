//! The table: buckets of nodes, found by key and changed under a lock.

mod hash;
mod layout;
mod locked;
mod pair;
mod queue;
mod queued;
mod table;
mod wake_list;

#[cfg(all(test, not(any(loom, shuttle, miri))))]
pub(crate) use locked::sleepers_window;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use locked::wake_in_handler;
pub(crate) use locked::{
    Locked, advice, announce, is_empty, lock, remove_if_queued, remove_if_queued_and, seem_queued,
    seems_empty,
};
pub(crate) use pair::{LockedPair, lock_pair};
pub(crate) use queued::Queued;
pub(crate) use table::{is_single, prepare, processors, seems_single};
pub(crate) use wake_list::notify_fan_out;
