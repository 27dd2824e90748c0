//! Waits: of a thread at one key, of a thread at many, of tasks and descriptors.

pub(in crate::lot) mod any;
#[cfg(not(any(loom, shuttle)))]
pub(in crate::lot) mod deferred;
pub(in crate::lot) mod one;
pub(in crate::lot) mod task;
