//! Linux: one typed function a call, one file a subject. Nothing here knows of queues or locks.

pub mod clock;
pub(crate) mod fork;
pub(crate) mod futex;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod futex2;
pub(crate) mod memory;
pub(crate) mod syscall;
pub(crate) mod thread;
pub(crate) mod topology;
