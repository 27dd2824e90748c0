//! A rwlock as one kind of waiter wants it.

use super::RawRwLock;
use super::settle::{OnLeave, is_first_that_writes, settle, waiter_left};
use super::state::{Cause, HANDOFF, Kind, Policy, bits};
use crate::lock::bits::Bits;
use crate::lock::contender::Lock;
use crate::lock::options::Options;
use crate::lock::surplus;
use crate::lot::{self, Debt, Ended, Key, Locked, Verdict, Wait};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::Deadline;
use core::time::Duration;

/// A waiter whose alarm has rung in vain for that long, at growing intervals, sets none any more.
const LONGEST_ALARM: Duration = Duration::from_millis(700);

#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'l> {
    pub(super) lock: &'l RawRwLock,
    pub(super) kind: Kind,
    /// What becomes of the lock if the thread leaves for good while it waits.
    pub(super) on_leave: Option<OnLeave>,
}

impl Lock for Wanted<'_> {
    #[inline]
    fn key(&self) -> Key {
        self.lock.key()
    }

    #[inline]
    fn bits(&self) -> &'static Bits {
        bits(self.kind)
    }

    #[inline]
    fn load(&self) -> u64 {
        self.lock.word.load(Ordering::Relaxed)
    }

    #[inline]
    fn exchange(&self, old: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        self.lock.exchange(old, new, success)
    }

    #[inline]
    fn clear(&self, bits: u64) {
        self.lock.word.fetch_and(!bits, Ordering::Relaxed);
    }

    fn debt(&self) -> Option<Debt> {
        Some(self.lock.debt(self.on_leave.unwrap_or(waiter_left)))
    }

    /// A writer that is woken where it is of no use sits out first.
    ///
    /// A writer that waits for long asks for the lock while it is queued: readers may take turns
    /// without ever leaving the lock empty, so that no release wakes it.
    #[inline(always)]
    fn sleep(
        &self,
        wait: Wait<'_>,
        options: &Options,
        until: Option<&Deadline>,
        on_leave: impl FnMut(bool),
    ) -> Ended {
        let mut patience = Duration::from_nanos(adjustable!(options.hand_off_after_ns, HandOff));
        let alarm = if self.may_be_passed_by() { alarm_after(patience, until) } else { None };
        let ring = |queue: &mut Locked<'_>, waiter| {
            if is_first_that_writes(queue, waiter) {
                self.lock.word.fetch_or(HANDOFF, Ordering::Relaxed);
                settle(&raw const self.lock.word, queue, Cause::Left);
            }
            patience *= 2;
            alarm_after(patience, until)
        };
        let linger = |verdict: Verdict| {
            if verdict.holds_wake && self.may_sit_out(options) {
                surplus::sit_out(self.key(), self.bits(), || self.load());
            }
        };
        wait.sleep_ringing(alarm, ring, linger, on_leave)
    }

    fn settle(&self, queue: &mut Locked<'_>) {
        if !mutant::active(Mutant::RoleGivenUpUnsettled) {
            settle(&raw const self.lock.word, queue, Cause::Left);
        }
    }

    fn settle_after_leaving(&self) {
        if !mutant::active(Mutant::LeaverSettlesNothing) {
            self.lock.settle_after_leaving();
        }
    }
}

impl Wanted<'_> {
    /// Whether the waiter may be passed by for ever without being woken. (A model has no time.)
    fn may_be_passed_by(&self) -> bool {
        !cfg!(any(loom, shuttle))
            && matches!(self.kind, Kind::Writer | Kind::Upgradable)
            && self.lock.policy() != Policy::PreferReaders
    }

    /// Whether a writer that was woken may let others run, as long as that is better: not where
    /// readers never wait for it, or wait for as long as it does.
    fn may_sit_out(&self, options: &Options) -> bool {
        surplus::may_be(self.bits(), options)
            && matches!(self.lock.policy(), Policy::PhaseFair | Policy::Recursive)
            && !lot::seems_single()
    }
}

/// When the alarm of a waiter is to ring after `patience`; `None` if `end` comes first, or it has
/// been long enough.
fn alarm_after(patience: Duration, end: Option<&Deadline>) -> Option<Deadline> {
    let ends = end.is_some_and(|end| end.is_within(patience));
    (!ends && patience < LONGEST_ALARM).then(|| Deadline::after(patience))
}
