//! A bucket's queue: doubly linked, intrusive, first in first out for each address and rank.

use crate::lot::node::{Key, Waiter};
use crate::prim::CheckedCell;
use crate::prim::const_unless_model;

/// Waiters of all addresses that share the bucket.
///
/// Every method is unsafe for one reason: the caller must hold the bucket's lock.
#[derive(Debug)]
pub(super) struct Queue {
    head: CheckedCell<Option<&'static Waiter>>,
    tail: CheckedCell<Option<&'static Waiter>>,
}

impl Queue {
    const_unless_model! {
        pub(super) fn new() -> Self {
            Self { head: CheckedCell::new(None), tail: CheckedCell::new(None) }
        }
    }

    /// Forgets its waiters, in a forked child where they don't exist.
    ///
    /// # Safety
    /// The caller is the only thread.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) unsafe fn reset(&self) {
        // SAFETY: no other thread.
        unsafe {
            self.head.set(None);
            self.tail.set(None);
        }
    }

    /// # Safety
    /// The caller holds the bucket lock.
    pub(super) unsafe fn push_back(&self, waiter: &'static Waiter) {
        // SAFETY: under the bucket lock; an unlinked node's links are the caller's alone.
        unsafe {
            let last = self.tail.get();
            waiter.previous.set(last);
            waiter.next.set(None);
            match last {
                Some(last) => last.next.set(Some(waiter)),
                None => self.head.set(Some(waiter)),
            }
            self.tail.set(Some(waiter));
        }
    }

    /// # Safety
    /// The caller holds the bucket lock, and `next` is in this queue.
    pub(super) unsafe fn push_before(&self, next: &'static Waiter, waiter: &'static Waiter) {
        // SAFETY: as in `push_back`.
        unsafe {
            let previous = next.previous.get();
            waiter.previous.set(previous);
            waiter.next.set(Some(next));
            match previous {
                Some(previous) => previous.next.set(Some(waiter)),
                None => self.head.set(Some(waiter)),
            }
            next.previous.set(Some(waiter));
        }
    }

    /// # Safety
    /// The caller holds the bucket lock, and `waiter` is in this queue.
    pub(super) unsafe fn unlink(&self, waiter: &'static Waiter) {
        // SAFETY: under the bucket lock; the neighbours are in the same queue.
        unsafe {
            let (previous, next) = (waiter.previous.get(), waiter.next.get());
            match previous {
                Some(previous) => previous.next.set(next),
                None => self.head.set(next),
            }
            match next {
                Some(next) => next.previous.set(previous),
                None => self.tail.set(previous),
            }
        }
    }

    /// The first waiter at `key`, from `start` on or from the head.
    ///
    /// # Safety
    /// The caller holds the bucket lock, and `start` is in this queue.
    pub(super) unsafe fn find(&self, key: Key, start: Start) -> Option<&'static Waiter> {
        // SAFETY: under the bucket lock all links are stable.
        unsafe {
            let mut at = match start {
                Start::Head => self.head.get(),
                Start::After(waiter) => waiter.next.get(),
            };
            while let Some(waiter) = at {
                if waiter.key() == key {
                    return Some(waiter);
                }
                at = waiter.next.get();
            }
            None
        }
    }
}

/// Where a search begins.
#[derive(Clone, Copy)]
pub(super) enum Start {
    Head,
    After(&'static Waiter),
}
