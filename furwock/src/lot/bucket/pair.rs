//! Two buckets locked at once, for waiters that move from one to the other.

use super::locked::Locked;
use super::queued::Queued;
use super::table;
use crate::lot::node::{ANY, Key, NodeKind};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};

/// Two addresses' buckets, both locked, or the one that they share.
///
/// Dropping the pair releases both locks before it notifies the waiters it chose.
pub(crate) struct LockedPair<'t> {
    pub(crate) from: Locked<'t>,
    to: Option<Locked<'t>>,
}

/// Takes the locks of both keys' buckets, in the order of their addresses, so that two requeues in
/// opposite directions can't wait for one another.
pub(crate) fn lock_pair(from: Key, to: Key) -> LockedPair<'static> {
    let (from, to) = (table::bucket(from), table::bucket(to));
    if core::ptr::eq(from, to) {
        return LockedPair { from: Locked::of(from), to: None };
    }
    let from_first = core::ptr::from_ref(from) < core::ptr::from_ref(to)
        || mutant::active(Mutant::PairInCallersOrder);
    if from_first {
        let from = Locked::of(from);
        LockedPair { from, to: Some(Locked::of(to)) }
    } else {
        let to = Locked::of(to);
        LockedPair { from: Locked::of(from), to: Some(to) }
    }
}

impl LockedPair<'_> {
    /// The bucket that waiters are moved to.
    #[inline]
    pub(crate) fn to(&self) -> &Locked<'_> {
        self.to.as_ref().unwrap_or(&self.from)
    }

    /// `choose_many` at `key` in the bucket that waiters are moved to.
    pub(crate) fn choose_at_other(&mut self, key: Key, most: usize) -> usize {
        self.to.as_mut().unwrap_or(&mut self.from).choose_many(key, most, ANY)
    }

    /// Moves `waiter` from its queue to the end of `to_key`'s. It notices nothing.
    pub(crate) fn move_waiter(&self, waiter: Queued<'_>, to_key: Key) {
        if !waiter.is_still_in(self.from.bucket) {
            return;
        }
        if let NodeKind::Member { head, .. } = waiter.kind() {
            head.claim.note_move();
        }
        let waiter = waiter.waiter();
        // SAFETY: both bucket locks are held, and the waiter is queued in `from`; then it is in no
        // queue, and `to` is the bucket that its new key belongs to.
        unsafe {
            self.from.bucket.queue.0.unlink(waiter);
            self.to().push_back(waiter, to_key);
        }
        let Some(to) = &self.to else { return };
        if !mutant::active(Mutant::RequeueWithoutCount) {
            // In before out: no moment at which it is counted nowhere.
            to.bucket.waiters.fetch_add(1, Ordering::Relaxed);
            self.from.bucket.waiters.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for LockedPair<'_> {
    fn drop(&mut self) {
        if let Some(to) = &mut self.to {
            to.release();
        }
        self.from.release();
    }
}
