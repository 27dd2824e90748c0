//! The side of those who want the lock, or the right to upgrade, to themselves.

use super::RawRwLock;
use super::left::OnLeave;
use super::settle::{is_first_that_writes, settle};
use super::state::{
    Cause, HANDOFF, Kind, OWNER, PARKED, Policy, SPIN, STALE_IN_CHILD, UPGRADING, WAKES, WRITER,
    given_up, has_room_for, is_available, owner, queued, spun_for, taken, upgradable_left,
};
use crate::lock::contender::{Contended, Role};
use crate::lock::spin::RWLOCK_BUDGET_NS;
use crate::lot::{Debt, Key, Locked, Waiter};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys;

/// A rwlock as one kind of owner wants it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exclusive<'l> {
    pub(super) lock: &'l RawRwLock,
    pub(super) kind: Kind,
    /// What becomes of the lock if the thread leaves for good while it waits.
    pub(super) on_leave: Option<OnLeave>,
}

/// The word without what stands for nobody, if nobody is queued: bits of the queue that a forked
/// child's parent has, or whose last waiter is about to clear them; and in such a child, of threads
/// that it doesn't have. One of those may own the lock and wait there for readers to leave: it has written
/// nothing.
pub(super) fn cleaned(word: u64, queue: &Locked<'_>, key: Key) -> u64 {
    if queue.has(key) {
        return word;
    }
    let word = word & !(PARKED | HANDOFF);
    if !sys::fork::is_child() {
        return word;
    }
    let word = word & !STALE_IN_CHILD;
    let waits = word & (UPGRADING | WRITER) == UPGRADING;
    if waits && !sys::thread::is_ours(owner(word)) && !mutant::active(Mutant::ParentsWriterStays) {
        upgradable_left(word)
    } else {
        word
    }
}

impl Contended for Exclusive<'_> {
    type Word = u64;

    fn key(&self) -> Key {
        self.lock.key()
    }

    fn token(&self) -> usize {
        self.kind.token()
    }

    fn debt(&self) -> Option<Debt> {
        self.on_leave.map(|settle| self.lock.debt(settle))
    }

    fn load(&self) -> u64 {
        self.lock.word.load(Ordering::Relaxed)
    }

    fn exchange(&self, old: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        self.lock.exchange(old, new, success)
    }

    fn is_available(&self, word: u64) -> bool {
        is_available(word, self.kind)
    }

    fn is_promised(&self, word: u64) -> bool {
        word & HANDOFF != 0 && self.kind != Kind::Upgrader
    }

    fn is_parked(&self, word: u64) -> bool {
        // Nobody can be let in before an upgrader.
        word & PARKED != 0 && self.kind != Kind::Upgrader
    }

    fn has_spinner(&self, word: u64) -> bool {
        word & SPIN != 0
    }

    fn is_somebody_on_the_way(&self, word: u64) -> bool {
        word & (SPIN | WAKES) != 0
    }

    fn owner(&self, word: u64) -> u32 {
        let dead_weight =
            if word & WRITER != 0 { word & !OWNER } else { word & !(OWNER | UPGRADING) };
        if has_room_for(dead_weight, self.kind) { owner(word) } else { 0 }
    }

    fn taken(&self, word: u64, tid: u32, role: Role) -> u64 {
        taken(word, self.kind, tid, role)
    }

    fn seized(&self, word: u64, tid: u32) -> u64 {
        taken(word & !(OWNER | WRITER | UPGRADING), self.kind, tid, Role::Newcomer)
    }

    fn spun_for(&self, word: u64, role: Role) -> u64 {
        spun_for(word, self.kind, role)
    }

    fn given_up(&self, word: u64, role: Role) -> u64 {
        given_up(word, role)
    }

    fn cleaned(&self, word: u64, queue: &Locked<'_>) -> u64 {
        cleaned(word, queue, self.key())
    }

    fn queued(&self, word: u64, role: Role, hand_off: bool) -> u64 {
        queued(word, self.kind, role, hand_off)
    }

    fn has_queued_giving_up(&self, queue: &mut Locked<'_>) {
        if !mutant::active(Mutant::RoleGivenUpUnsettled) {
            settle(&raw const self.lock.word, queue, Cause::Left);
        }
    }

    fn spin_budget_ns(&self) -> u64 {
        RWLOCK_BUDGET_NS
    }

    fn may_be_passed_by(&self) -> bool {
        // Readers may take turns without ever leaving the lock empty. (A model has no time.)
        !cfg!(any(loom, shuttle))
            && self.lock.policy() != Policy::PreferReaders
            && self.kind != Kind::Upgrader
    }

    fn has_waited_long(&self, queue: &mut Locked<'_>, waiter: &'static Waiter) {
        if is_first_that_writes(queue, waiter) {
            self.lock.word.fetch_or(HANDOFF, Ordering::Relaxed);
            settle(&raw const self.lock.word, queue, Cause::Left);
        }
    }

    fn is_leaving(&self, was_last: bool) {
        self.lock.is_leaving(was_last);
    }

    fn has_left(&self) {
        if !mutant::active(Mutant::LeaverSettlesNothing) {
            self.lock.settle_after_leaving();
        }
    }

    fn was_last(&self) {}
}
