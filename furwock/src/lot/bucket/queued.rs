//! Waiters that are known to be queued, as long as their bucket's lock is held.

use super::layout::Bucket;
use crate::lot::node::{Key, NodeKind, Waiter};

/// A waiter that was found in a bucket whose lock has been held since. Only `Locked` makes them,
/// and none outlives it.
#[derive(Clone, Copy)]
pub(crate) struct Queued<'locked> {
    waiter: &'static Waiter,
    key: Key,
    token: usize,
    tid: u32,
    bucket: &'locked Bucket,
}

impl<'locked> Queued<'locked> {
    /// # Safety
    /// `waiter` is queued at `key` in `bucket`, whose lock is held for `'locked`.
    #[inline]
    pub(super) unsafe fn new(waiter: &'static Waiter, key: Key, bucket: &'locked Bucket) -> Self {
        // SAFETY: by this function's contract.
        let (token, tid) = unsafe { (waiter.token_locked(), waiter.tid_locked()) };
        Self { waiter, key, token, tid, bucket }
    }

    /// Whether it is queued in `bucket`, where it was found: it may have been chosen since, or
    /// moved.
    #[inline]
    pub(super) fn is_still_in(self, bucket: &Bucket) -> bool {
        core::ptr::eq(bucket, self.bucket) && self.waiter.key() == self.key
    }

    /// The node, for its owner.
    #[inline]
    pub(crate) fn waiter(self) -> &'static Waiter {
        self.waiter
    }

    /// Where it is queued.
    #[inline]
    pub(crate) fn key(self) -> Key {
        self.key
    }

    /// What it left for wakers as it queued itself: a condvar's mutex, or the kind of a rwlock's
    /// waiter.
    #[inline]
    pub(crate) fn token(self) -> usize {
        self.token
    }

    /// The kernel's id of its thread.
    #[inline]
    pub(crate) fn tid(self) -> u32 {
        self.tid
    }

    /// Whether a thread waits, for this alone: no task, and no wait on many words.
    #[cfg(not(any(loom, shuttle)))]
    pub(in crate::lot) fn is_of_a_thread(self) -> bool {
        matches!(self.kind(), NodeKind::Thread)
    }

    /// For callers that have just found it, or know that it is still queued: as the ones below.
    #[inline]
    pub(super) fn kind(self) -> NodeKind {
        // SAFETY: its bucket's lock is held.
        unsafe { self.waiter.kind.get() }
    }

    #[inline]
    pub(super) fn rank(self) -> u32 {
        // SAFETY: as above.
        unsafe { self.waiter.rank.get() }
    }

    #[inline]
    pub(in crate::lot) fn bitset(self) -> u32 {
        // SAFETY: as above.
        unsafe { self.waiter.bitset.get() }
    }

    #[inline]
    pub(super) fn cpu(self) -> u32 {
        // SAFETY: as above.
        unsafe { self.waiter.cpu.get() }
    }
}

impl PartialEq for Queued<'_> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.waiter, other.waiter)
    }
}
