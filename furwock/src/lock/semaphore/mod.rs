//! A counting semaphore in one word of 64 bits: how many permits there are, and how many threads
//! are about to sleep for want of one (`state`). The word's layout is that of glibc's `sem_t`,
//! since 2.21.
//!
//! A release touches the word for the last time in the exchange that succeeds, and what it does
//! afterwards needs the address only: the waiter that takes the permit may free the semaphore at
//! once. A waiter that is woken competes with newcomers for the permit, and waits again if it
//! loses. ORDERING.md, SE-1.

mod state;
pub(crate) mod task;

use super::patience::{do_looks_pay, spin_first};
use super::pauses::pauses_in;
use super::yields::{self, Balance};
use crate::futex::{wait_owing, wake_at};
use crate::lot::{self, Debt, Ended, Key, Until};
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{adjustable, const_unless_model, spin_loop};
use crate::sys::clock::{Deadline, monotonic_ns};
use state::{WAITER, acquired, permits, released, waiters};
use unstable::PermitWaited;

/// What yields before a sleep came to.
static BALANCE: Balance = Balance::new();

/// The longest time for which a thread stands back that met another at the word, in nanoseconds.
const STAND_BACK_NS: u32 = 1_000;

/// A counting semaphore without an owner: permits to take and to give back, by any threads.
///
/// Its memory may be freed as soon as no thread waits and no acquire is to come, also while a
/// [`release`](Self::release) hasn't returned yet.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawSemaphore {
    word: AtomicU64,
}

/// A release that would have made more permits than a semaphore can count. It changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPermits;

impl core::fmt::Display for TooManyPermits {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a semaphore has no more than {} permits", RawSemaphore::MOST)
    }
}

impl core::error::Error for TooManyPermits {}

impl RawSemaphore {
    /// The most permits that it has (POSIX: `SEM_VALUE_MAX`).
    pub const MOST: u32 = state::MOST;

    const_unless_model! {
        /// A semaphore with `permits`, at most [`MOST`](Self::MOST).
        pub fn new(permits: u32) -> Result<Self, TooManyPermits> {
            if permits > Self::MOST {
                return Err(TooManyPermits);
            }
            Ok(Self { word: AtomicU64::new(permits as u64) })
        }
    }

    /// How many permits there are at this moment: 0 while threads wait.
    #[inline]
    pub fn available(&self) -> u32 {
        permits(self.word.load(Ordering::Relaxed))
    }

    /// Takes a permit if there is one. Acquire, if it did.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        self.take(0)
    }

    /// Takes a permit, once there is one. Acquire.
    #[inline]
    pub fn acquire(&self) {
        if !self.try_acquire() {
            while self.acquire_slow(Until::default()) != PermitWaited::Permit {}
        }
    }

    /// Takes a permit, unless there is none before the deadline. Acquire, if it returns true.
    ///
    /// A permit that is there is taken however long the deadline has passed.
    #[inline]
    pub fn acquire_until(&self, deadline: &Deadline) -> bool {
        if self.try_acquire() {
            return true;
        }
        loop {
            match self.acquire_slow(Until { deadline: Some(deadline), ..Until::default() }) {
                PermitWaited::Permit => return true,
                PermitWaited::TimedOut => return false,
                PermitWaited::Interrupted | PermitWaited::Signalled => {}
            }
        }
    }

    /// Gives back a permit, or makes one, and wakes a thread that waits for it. Release.
    ///
    /// May be called from a signal handler, whatever its thread was doing.
    #[inline]
    pub fn release(&self) -> Result<(), TooManyPermits> {
        self.release_many(1)
    }

    /// Gives back that many permits, and wakes as many threads. Release.
    #[inline]
    pub fn release_many(&self, permits: u32) -> Result<(), TooManyPermits> {
        let looked_before =
            mutant::active(Mutant::WaitersReadBefore).then(|| self.word.load(Ordering::Relaxed));
        let update = self.update(publish(), |word| released(word, permits));
        let update = update.map_err(|_| TooManyPermits)?;
        let word = looked_before.unwrap_or(update.before);
        if waiters(word) != 0 {
            // The semaphore may be gone.
            wake_at(self.key(), permits as usize, lot::ANY);
        } else if update.met_another {
            stand_back();
        }
        Ok(())
    }

    /// Takes a permit, and counts as many waiters out.
    #[inline]
    fn take(&self, waiters: u64) -> bool {
        self.update(Ordering::Acquire, |word| acquired(word, waiters)).is_ok()
    }

    /// Replaces the word by what `change` makes of it. Returns the word before, or the word that
    /// `change` refused.
    #[inline]
    fn update(
        &self,
        success: Ordering,
        change: impl Fn(u64) -> Option<u64>,
    ) -> Result<Updated, u64> {
        let mut word = self.word.load(Ordering::Relaxed);
        let mut met_another = false;
        loop {
            let new = change(word).ok_or(word)?;
            match self.word.compare_exchange_weak(word, new, success, Ordering::Relaxed) {
                Ok(before) => return Ok(Updated { before, met_another }),
                Err(now) => {
                    // (An exchange may also fail for no reason.)
                    met_another |= now != word;
                    word = now;
                }
            }
        }
    }

    #[cold]
    fn acquire_slow(&self, until: Until<'_>) -> PermitWaited {
        let key = self.key();
        // Where looks pay, a permit that comes just after the last of them is met, too.
        let until = Until { pauses: do_looks_pay(key), ..until };
        let is_alone = || waiters(self.word.load(Ordering::Relaxed)) == 0;
        if spin_first(key, || self.available() != 0, is_alone) && self.take(0) {
            return PermitWaited::Permit;
        }
        if until.deadline.is_none() && yields::once(&BALANCE, || self.take(0)) {
            return PermitWaited::Permit;
        }
        if !mutant::active(Mutant::WaiterUncounted) {
            self.word.fetch_add(WAITER, Ordering::Relaxed);
        }
        loop {
            if self.take(u64::from(!mutant::active(Mutant::WaiterUncounted))) {
                return PermitWaited::Permit;
            }
            let look = || if self.available() == 0 { Ok(()) } else { Err(()) };
            let address = core::ptr::from_ref(self).expose_provenance();
            let debt = Debt { settle: count_out, address };
            let ended = match wait_owing(key, look, until, lot::ANY, Some(debt)) {
                Err(()) | Ok(Ended::Chosen(_)) => continue,
                Ok(Ended::TimedOut) => PermitWaited::TimedOut,
                Ok(Ended::Interrupted) => PermitWaited::Interrupted,
                Ok(Ended::Signalled) => PermitWaited::Signalled,
            };
            self.word.fetch_sub(WAITER, Ordering::Relaxed);
            return ended;
        }
    }

    /// How many threads are counted as waiting.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn waiters(&self) -> u64 {
        waiters(self.word.load(Ordering::Relaxed))
    }

    #[inline]
    fn key(&self) -> Key {
        Key::semaphore(core::ptr::from_ref(self).addr())
    }
}

/// What a change of the word found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Updated {
    before: u64,
    /// Another thread changed the word since this one had read it.
    met_another: bool,
}

/// The ordering by which a release publishes what happened before it.
#[inline]
fn publish() -> Ordering {
    if mutant::active(Mutant::PermitRelaxed) { Ordering::Relaxed } else { Ordering::Release }
}

/// Lets others go on, after a release that met another thread at the word and has nobody to wake.
///
/// Threads that take permits and give them back in a row do little but pull the word's cache line
/// from one another. One that stands back leaves another alone with it. Two that met stand back
/// for times that differ: a hash of the clock says how long. A thread does so after its release,
/// since each exchange that it tried later would need the line again, and others may be after the
/// permit (docs/experiments.md, "Standing back from a semaphore's word").
#[cold]
fn stand_back() {
    let most = adjustable!(STAND_BACK_NS, StandBack);
    if cfg!(any(loom, shuttle)) || most == 0 || lot::is_single() {
        return;
    }
    // (Times are equal where the clock is coarse.)
    let random = monotonic_ns().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let ns = (random * u64::from(most)) >> 32;
    (0..pauses_in(u32::try_from(ns).unwrap_or(0))).for_each(|_| spin_loop());
}

/// A waiter that won't return isn't counted any more.
fn count_out(semaphore: usize, _: lot::From) {
    // SAFETY: the waiter's call on the semaphore isn't over.
    let semaphore = unsafe { &*core::ptr::with_exposed_provenance::<RawSemaphore>(semaphore) };
    semaphore.word.fetch_sub(WAITER, Ordering::Relaxed);
}

/// What the preload needs of a semaphore. Unstable.
pub mod unstable {
    use super::{RawSemaphore, TooManyPermits, publish, released, stand_back, waiters};
    use crate::lot::{Signals, Until};
    use crate::sys::clock::Deadline;

    /// How an acquire that may be interrupted ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PermitWaited {
        /// With a permit.
        Permit,
        /// The deadline passed first.
        TimedOut,
        /// The thread was interrupted ([`interrupt`](crate::unstable::interrupt)) first, or is
        /// asked to try again since the kernel has no memory for its node.
        Interrupted,
        /// A signal handler ran first, of those that end a futex(2) wait: without a deadline one
        /// that was registered without `SA_RESTART`, with one any.
        Signalled,
    }

    /// Takes a permit, unless something else ends the wait first: the deadline, an interrupt, a
    /// signal handler. Acquire, if it took one.
    #[inline]
    pub fn acquire_interruptible(
        semaphore: &RawSemaphore,
        deadline: Option<&Deadline>,
    ) -> PermitWaited {
        if semaphore.try_acquire() {
            return PermitWaited::Permit;
        }
        semaphore.acquire_slow(Until {
            deadline,
            interrupts: true,
            signals: Signals::AsFutex,
            ..Until::default()
        })
    }

    /// `release`, unless a thread may have to be woken: then false, and nothing done. Too many
    /// permits are refused in any case.
    #[inline]
    pub fn release_quietly(semaphore: &RawSemaphore) -> Result<bool, TooManyPermits> {
        let quietly = |word| if waiters(word) == 0 { released(word, 1) } else { None };
        match semaphore.update(publish(), quietly) {
            Ok(update) => {
                if update.met_another {
                    stand_back();
                }
                Ok(true)
            }
            Err(word) => released(word, 1).map(|_| false).ok_or(TooManyPermits),
        }
    }
}
