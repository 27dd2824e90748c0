//! What a waiter is made of: a node, the memory it lies in, and the thread that owns it.

pub(in crate::lot) mod claim;
pub(in crate::lot) mod ended;
pub(in crate::lot) mod gate;
pub(in crate::lot) mod key;
pub(in crate::lot) mod parker;
#[cfg(not(any(loom, shuttle)))]
pub(in crate::lot) mod pool;
pub(in crate::lot) mod short_lock;
pub(in crate::lot) mod thread;
pub(in crate::lot) mod waiter;
