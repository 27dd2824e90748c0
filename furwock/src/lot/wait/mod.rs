//! Waits: of a thread at one key, of a thread at many, of tasks and descriptors.

mod any;
#[cfg(not(any(loom, shuttle)))]
mod deferred;
mod lease;
#[cfg(not(any(loom, shuttle)))]
mod leave;
mod one;
#[cfg(not(any(loom, shuttle)))]
mod seen;
mod task;
#[cfg(not(any(loom, shuttle)))]
mod watch;
#[cfg(any(loom, shuttle))]
#[path = "unwatched.rs"]
mod watch;

pub(crate) use any::{AnyEnded, Group};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use deferred::{leave_wake, may_not_lock, wake_instead};
pub(crate) use lease::{Node, node};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use leave::{abandon_waits, end_waits};
pub(crate) use one::{Ended, Place, Wait};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use seen::{for_each_wait, waiters};
pub(crate) use task::{Stands, TaskNode, TaskWait};
pub(crate) use watch::Watch;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use watch::{Long, Watcher, watch_by};
