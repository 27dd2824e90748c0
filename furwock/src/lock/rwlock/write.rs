//! Writing, and upgradable reading: one thread at a time.

use super::RawRwLock;
use super::settle::{OnLeave, owner_left, settle_at, upgrader_left};
use super::slots;
use super::state::{
    self, Cause, HEAT, Kind, ONE_READER, PARKED, Policy, REVOKED, UPGRADING, WRITER, free,
    is_available, is_written, may_be_published, only_writer, owner, taken, upgradable_left,
    written, written_at_once, written_past_sleepers,
};
use super::wanted::Wanted;
use crate::lock::contender::Contender;
use crate::lock::options::{How, Options, Status};
use crate::lot;
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::Deadline;

/// Writing.
impl RawRwLock {
    /// Enters as the writer, waiting as long as it takes. Acquire.
    ///
    /// A thread that is inside already waits for ever.
    #[inline]
    pub fn lock_exclusive(&self) {
        if !self.write_fast_as(lot::tid()) {
            self.write_slow(&const { Options::new() });
        }
    }

    /// Enters as the writer unless it would have to wait. Acquire on success.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.write_fast_as(lot::tid()) || self.try_own_slow(Kind::Writer)
    }

    /// Enters as the writer as `options` has it, and returns how; `None` at the deadline. Acquire.
    #[inline]
    pub fn lock_exclusive_with(&self, options: &Options) -> Option<Status> {
        if self.write_fast_as(lot::tid()) { Some(Status::FAST) } else { self.write_slow(options) }
    }

    /// Leaves as the writer, and returns how many waiters it let in or woke. Release.
    ///
    /// Touches the word once and never again. Does nothing if no thread writes; ends the writing
    /// otherwise, whichever thread writes.
    #[inline]
    pub fn unlock_exclusive(&self) -> usize {
        if self.try_unlock_exclusive_as(lot::tid()) {
            return 0;
        }
        self.leave(is_written, written, Cause::Written)
    }

    /// Enters as the writer if no other thread is using the lock; `tid` is the caller's thread id.
    /// Acquire on success. False may mean nothing: the caller takes another way then.
    #[inline(always)]
    pub(crate) fn write_fast_as(&self, tid: u32) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        written_at_once(word, tid)
            .is_some_and(|new| self.exchange(word, new, Ordering::Acquire).is_ok())
    }

    /// Leaves as the writer if the word says no more than that `tid` writes a phase-fair lock.
    /// Calls nothing.
    #[inline(always)]
    fn try_unlock_exclusive_as(&self, tid: u32) -> bool {
        let word = only_writer(tid);
        self.word
            .compare_exchange(word, free(Policy::PhaseFair), Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// `lock_exclusive_with` for a caller that has just tried in vain.
    #[cold]
    pub(crate) fn write_slow(&self, options: &Options) -> Option<Status> {
        self.write_slow_inlined(options)
    }

    #[inline(always)]
    pub(super) fn write_slow_inlined(&self, options: &Options) -> Option<Status> {
        if options.steal && self.write_past_sleepers(lot::tid()) {
            return Some(Status::new(How::Stolen));
        }
        self.write_contended(options)
    }

    /// The same for a caller that has also tried `write_past_sleepers`.
    #[inline]
    pub(super) fn write_contended(&self, options: &Options) -> Option<Status> {
        let status = self.contend(Kind::Writer, options)?;
        if self.is_locked_exclusive() {
            return Some(status);
        }
        let waited = self.become_writer(options, owner_left);
        if waited.is_none() {
            self.unlock_upgradable();
        }
        waited.map(|waited| status.and_then(waited))
    }

    /// Enters a free lock past sleepers as the writer, as `Contender` does, at a fraction of its
    /// cost (W-1); `tid` is the caller's thread id. Acquire on success.
    #[inline(always)]
    pub(super) fn write_past_sleepers(&self, tid: u32) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let new = if mutant::active(Mutant::SlotsPassedBy) && is_available(word, Kind::Writer) {
            Some(taken(word, Kind::Writer, tid))
        } else {
            written_past_sleepers(word, tid)
        };
        new.is_some_and(|new| self.exchange(word, new, Ordering::Acquire).is_ok())
    }

    /// Turns the owner, which calls and is no writer yet, into the writer once all readers have
    /// left, those in slots first. `None` if the deadline comes first: then it is the upgradable
    /// reader.
    fn become_writer(&self, options: &Options, on_leave: OnLeave) -> Option<Status> {
        let sleeps = self.drain(options.deadline.as_ref(), on_leave);
        let status = sleeps.and_then(|sleeps| {
            let wanted = Wanted { lock: self, kind: Kind::Upgrader, on_leave: Some(on_leave) };
            let status = Contender::new(wanted, options).contend()?;
            let how = if sleeps == 0 { status.how } else { How::Slept };
            Some(Status { how, sleeps, ..Status::FAST }.and_then(status))
        });
        if status.is_none() {
            self.word.fetch_and(!UPGRADING, Ordering::Relaxed);
            self.settle_after_leaving();
        }
        status
    }

    /// Waits until no reader is in a slot; `None` at the deadline. Returns how often it slept. The
    /// caller owns the lock, and UPGRADING says that it is to become the writer: so no other thread
    /// drains or biases the lock.
    fn drain(&self, deadline: Option<&Deadline>, on_leave: OnLeave) -> Option<u32> {
        let published = may_be_published(self.word.load(Ordering::Relaxed));
        let drains = published && !mutant::active(Mutant::GrantedWriterDrainsNothing);
        let debt = self.debt(on_leave);
        let sleeps =
            if drains { slots::wait_until_withdrawn(self.address(), deadline, debt)? } else { 0 };
        self.note_empty_slots();
        Some(sleeps)
    }

    /// Notes that no reader is in a slot, as the caller has seen, which owns the lock.
    fn note_empty_slots(&self) {
        let published = may_be_published(self.word.load(Ordering::Relaxed));
        // To bias a lock again soon pays where there are few slots to look at.
        let heat = if published && slots::are_many() { HEAT } else { 0 };
        self.word.fetch_and(!(REVOKED | heat), Ordering::Relaxed);
    }
}

/// Upgradable reading.
impl RawRwLock {
    /// Enters as the upgradable reader, waiting as long as it takes. Acquire.
    ///
    /// It shares the lock with readers, and excludes the writer and other upgradable readers.
    #[inline]
    pub fn lock_upgradable(&self) {
        if !self.own_fast(Kind::Upgradable) {
            self.own_contended(&const { Options::new() });
        }
    }

    /// Enters as the upgradable reader unless it would have to wait. Acquire on success.
    #[inline]
    pub fn try_lock_upgradable(&self) -> bool {
        self.own_fast(Kind::Upgradable) || self.try_own_slow(Kind::Upgradable)
    }

    /// Enters as the upgradable reader as `options` has it, and returns how; `None` at the
    /// deadline. Acquire.
    #[inline]
    pub fn lock_upgradable_with(&self, options: &Options) -> Option<Status> {
        if self.own_fast(Kind::Upgradable) {
            return Some(Status::FAST);
        }
        self.own_contended(options)
    }

    #[cold]
    fn own_contended(&self, options: &Options) -> Option<Status> {
        self.contend(Kind::Upgradable, options)
    }

    /// Leaves as the upgradable reader. Release. Returns how many waiters it let in or woke.
    #[inline]
    pub fn unlock_upgradable(&self) -> usize {
        let held = |word| owner(word) != 0 && !is_written(word);
        self.leave(held, upgradable_left, Cause::Left)
    }

    /// Turns the upgradable reader, which calls, into the writer, once all readers have left; none
    /// enters meanwhile. Acquire.
    #[inline]
    pub fn upgrade(&self) {
        self.upgrade_with(&const { Options::new() });
    }

    /// `upgrade` if there are no readers. Acquire on success.
    pub fn try_upgrade(&self) -> bool {
        if self.own_fast(Kind::Upgrader) {
            return true;
        }
        self.prepare_upgrade();
        self.try_become_writer()
    }

    /// `upgrade` as `options` has it, and returns how; `None` at the deadline: then the caller is
    /// the upgradable reader still.
    pub fn upgrade_with(&self, options: &Options) -> Option<Status> {
        if self.own_fast(Kind::Upgrader) {
            return Some(Status::FAST);
        }
        self.prepare_upgrade();
        self.become_writer(options, upgrader_left)
    }

    /// From here on only readers come in that must not wait (W-4).
    fn prepare_upgrade(&self) {
        if mutant::active(Mutant::UpgradeLeftOpen) {
            return;
        }
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, state::drained_by(word), Ordering::Relaxed) {
            word = now;
        }
    }

    /// Turns the upgradable reader, which calls, into a reader. Release.
    pub fn downgrade_upgradable(&self) {
        self.downgrade_by(|word| upgradable_left(word) + ONE_READER);
    }
}

/// Less than before, without letting go.
impl RawRwLock {
    /// Turns the writer, which calls, into a reader. Release.
    pub fn downgrade(&self) {
        self.downgrade_by(|word| written(word) + ONE_READER);
    }

    /// Turns the writer, which calls, into the upgradable reader. Release.
    pub fn downgrade_to_upgradable(&self) {
        self.downgrade_by(|word| word & !WRITER);
    }

    fn downgrade_by(&self, change: impl Fn(u64) -> u64) {
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, change(word), Ordering::Release) {
            word = now;
        }
        // The caller is inside: the lock is still there.
        if word & PARKED != 0 {
            settle_at(&raw const self.word, Cause::Written);
        }
    }
}

/// What writers and upgradable readers have in common.
impl RawRwLock {
    #[inline]
    fn own_fast(&self, kind: Kind) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let new = taken(word, kind, lot::tid());
        is_available(word, kind) && self.exchange(word, new, Ordering::Acquire).is_ok()
    }

    #[cold]
    fn try_own_slow(&self, kind: Kind) -> bool {
        self.forget_parents();
        let mut word = self.word.load(Ordering::Relaxed);
        while is_available(word, kind) {
            let new = taken(word, kind, lot::tid());
            match self.exchange(word, new, Ordering::Acquire) {
                Ok(_) if kind == Kind::Upgradable || is_written(new) => return true,
                Ok(_) => {
                    let wrote = self.try_become_writer();
                    if !wrote {
                        self.unlock_upgradable();
                    }
                    return wrote;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// `become_writer` if there are no readers.
    fn try_become_writer(&self) -> bool {
        if !slots::is_published(self.address()) {
            self.note_empty_slots();
            let mut word = self.word.load(Ordering::Relaxed);
            while is_available(word, Kind::Upgrader) {
                let new = taken(word, Kind::Upgrader, 0);
                match self.exchange(word, new, Ordering::Acquire) {
                    Ok(_) => return true,
                    Err(now) => word = now,
                }
            }
        }
        self.word.fetch_and(!UPGRADING, Ordering::Relaxed);
        self.settle_after_leaving();
        false
    }

    #[inline(always)]
    fn contend(&self, kind: Kind, options: &Options) -> Option<Status> {
        let wanted = Wanted { lock: self, kind, on_leave: None };
        let status = Contender::new(wanted, options).contend()?;
        let word = self.word.load(Ordering::Relaxed);
        let alone = mutant::active(Mutant::UpgradableEntersAlone);
        if word & PARKED != 0 && !is_written(word) && !alone {
            // Others may be inside besides, and have not been woken for this one's sake.
            settle_at(&raw const self.word, Cause::Left);
        }
        Some(status)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_biased_when_it_was_written_is_biased_again_soon() {
        let lock = RawRwLock::new();
        let reads_until_biased = || {
            let is_biased = || state::is_biased(lock.word.load(Ordering::Relaxed));
            let mut reads = 0;
            while !is_biased() && reads < 100 {
                lock.lock_shared();
                lock.unlock_shared();
                reads += 1;
            }
            reads
        };
        let write = || {
            lock.lock_exclusive();
            lock.unlock_exclusive();
        };
        // (Another test may have given back another thread's read, or have used many slots.)
        let never = slots::are_given_back_by_others;
        assert!(reads_until_biased() == 33 || never());
        write();
        assert!(reads_until_biased() == 9 || slots::are_many() || never());
        write();
        write();
        assert!(reads_until_biased() == 33 || never());
    }
}
