//! A rwlock as one kind of waiter wants it.

use super::RawRwLock;
use super::settle::{OnLeave, is_first_that_writes, settle};
use super::state::{Cause, HANDOFF, Kind, Policy, bits};
use crate::lock::bits::Bits;
use crate::lock::contender::{Lock, Settler, Word};
use crate::lot::{Debt, Key, Locked, Waiter};
use crate::prim::atomic::Ordering;

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<'l> {
    pub(super) lock: &'l RawRwLock,
    pub(super) kind: Kind,
    /// What becomes of the lock if the thread leaves for good while it waits.
    pub(super) on_leave: Option<OnLeave>,
}

impl Lock for Waiting<'_> {
    #[inline]
    fn word(&self) -> Word<'_> {
        Word::Wide(&self.lock.word)
    }

    #[inline]
    fn key(&self) -> Key {
        self.lock.key()
    }

    #[inline]
    fn bits(&self) -> &'static Bits {
        bits(self.kind)
    }

    #[inline]
    fn settler(&self) -> Option<&dyn Settler> {
        Some(self)
    }
}

impl Settler for Waiting<'_> {
    fn debt(&self) -> Option<Debt> {
        self.on_leave.map(|settle| self.lock.debt(settle))
    }

    fn settle(&self, queue: &mut Locked<'_>) {
        settle(&raw const self.lock.word, queue, Cause::Left);
    }

    fn settle_after_leaving(&self) {
        self.lock.settle_after_leaving();
    }

    fn may_be_passed_by(&self) -> bool {
        // Readers may take turns without ever leaving the lock empty. (A model has no time.)
        !cfg!(any(loom, shuttle))
            && matches!(self.kind, Kind::Writer | Kind::Upgradable)
            && self.lock.policy() != Policy::PreferReaders
    }

    fn has_waited_long(&self, queue: &mut Locked<'_>, waiter: &'static Waiter) {
        if is_first_that_writes(queue, waiter) {
            self.lock.word.fetch_or(HANDOFF, Ordering::Relaxed);
            self.settle(queue);
        }
    }
}
