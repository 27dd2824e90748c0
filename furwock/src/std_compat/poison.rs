//! Poison: what a lock remembers of a thread that panicked while it held the lock.
//!
//! A guard notes whether its thread was panicking already when it took the lock. If it wasn't then
//! and is when the guard is dropped, the panic began while the lock was held, and what the lock
//! protects may be half done. The flag is written and read by threads that hold the lock, which
//! orders the accesses; those of other threads (`is_poisoned`) are out of date at once in any case.

use crate::prim::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError};
use std::thread;

/// Whether a lock is poisoned.
pub(super) struct Flag(AtomicBool);

/// What a guard notes as its thread takes the lock: whether the thread is panicking.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    panicking: bool,
}

impl Entry {
    #[inline]
    pub(super) fn now() -> Self {
        Self { panicking: thread::panicking() }
    }
}

impl Flag {
    pub(super) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[inline]
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// `value` as std returns it: wrapped in an error if the lock is poisoned.
    #[inline]
    pub(super) fn judge<T>(&self, value: T) -> LockResult<T> {
        if self.get() { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    /// For a thread that is about to release the lock: poisons it if a panic has begun since
    /// `entry`.
    #[inline]
    pub(super) fn leave(&self, entry: Entry) {
        if !entry.panicking && thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
