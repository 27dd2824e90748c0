//! A counting semaphore in one word of 64 bits: how many permits there are, and how many threads are
//! about to sleep for want of one. The word's layout is that of glibc's `sem_t`, since 2.21.
//!
//! | half | counts |
//! |---|---|
//! | low | permits |
//! | high | threads between their first look that found none and their return |
//!
//! | from | by | to |
//! |---|---|---|
//! | permits > 0 | acquire | permits - 1 |
//! | permits = 0 | acquire: counts itself in, then sleeps while there are none | waiters + 1 |
//! | permits > 0 | a waiter | permits - 1 and waiters - 1, at once |
//! | | a waiter that gives up | waiters - 1 |
//! | | release | permits + 1; if that step found waiters, one is woken |
//!
//! Who releases touches the word once, and what it does afterwards needs the address only: the
//! waiter that takes the permit may free the semaphore at once. Who is woken competes with
//! newcomers for the permit, and waits again if it loses. ORDERING.md, SE-1.

use super::patience::look_first;
use crate::futex::{wait_owing, wake_at};
use crate::lot::{self, Debt, Ended, Key, Signals, Until};
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::const_unless_model;
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::Deadline;

const PERMITS: u64 = u32::MAX as u64;
const WAITER: u64 = PERMITS + 1;

/// A counting semaphore without an owner: permits to take and to give back, by any threads.
///
/// Its memory may be freed as soon as no thread waits and no acquire is to come, also while a
/// [`release`](Self::release) hasn't returned yet.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawSemaphore {
    word: AtomicU64,
}

/// How an acquire that may be interrupted ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// With a permit.
    Permit,
    /// The deadline passed first.
    TimedOut,
    /// The thread was interrupted ([`interrupt`](super::interrupt)) first, or is asked to try again
    /// since the kernel has no memory for its node.
    Interrupted,
    /// A signal handler ran first, of those that end a futex(2) wait: without a deadline one that was
    /// registered without `SA_RESTART`, with one any.
    Signalled,
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
    pub const MOST: u32 = i32::MAX as u32;

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
        (self.word.load(Ordering::Relaxed) & PERMITS) as u32
    }

    /// Takes a permit if there is one. Acquire, if it did.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        self.take(1)
    }

    /// Takes a permit, once there is one. Acquire.
    #[inline]
    pub fn acquire(&self) {
        if !self.try_acquire() {
            while self.acquire_slow(Until::default()) != Acquired::Permit {}
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
                Acquired::Permit => return true,
                Acquired::TimedOut => return false,
                Acquired::Interrupted | Acquired::Signalled => {}
            }
        }
    }

    /// Takes a permit, unless something else ends the wait first: the deadline, an interrupt, a signal
    /// handler. Acquire, if it took one.
    #[inline]
    pub fn acquire_interruptible(&self, deadline: Option<&Deadline>) -> Acquired {
        if self.try_acquire() {
            return Acquired::Permit;
        }
        self.acquire_slow(Until { deadline, interrupts: true, signals: Signals::AsFutex })
    }

    /// Gives back a permit, or makes one, and wakes a thread that waits for it. Release.
    ///
    /// May be called from a signal handler, whatever its thread was doing.
    #[inline]
    pub fn release(&self) -> Result<(), TooManyPermits> {
        self.release_many(1)
    }

    /// `release`, unless somebody may have to be woken: then false, and nothing done.
    #[inline]
    pub fn release_quietly(&self) -> Result<bool, TooManyPermits> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if (word & PERMITS) as u32 == Self::MOST {
                return Err(TooManyPermits);
            }
            if word >= WAITER {
                return Ok(false);
            }
            let (publish, failure) = (Ordering::Release, Ordering::Relaxed);
            match self.word.compare_exchange_weak(word, word + 1, publish, failure) {
                Ok(_) => return Ok(true),
                Err(now) => word = now,
            }
        }
    }

    /// Gives back that many permits, and wakes as many threads. Release.
    #[inline]
    pub fn release_many(&self, permits: u32) -> Result<(), TooManyPermits> {
        let publish = if mutant::active(Mutant::PermitRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        let mut word = self.word.load(Ordering::Relaxed);
        let looked_before = word;
        loop {
            if permits > Self::MOST - (word & PERMITS) as u32 {
                return Err(TooManyPermits);
            }
            let more = word + u64::from(permits);
            match self.word.compare_exchange_weak(word, more, publish, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if mutant::active(Mutant::WaitersReadBefore) {
            word = looked_before;
        }
        if word >= WAITER {
            // The semaphore may be gone.
            wake_at(self.key(), permits as usize, lot::ANY);
        }
        Ok(())
    }

    /// Takes a permit, together with `also` in the high half.
    #[inline]
    fn take(&self, also: u64) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & PERMITS != 0 {
            let less = word - also;
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            match self.word.compare_exchange_weak(word, less, success, failure) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[cold]
    fn acquire_slow(&self, until: Until<'_>) -> Acquired {
        let key = self.key();
        if look_first(key, || self.available() != 0) && self.take(1) {
            return Acquired::Permit;
        }
        if !mutant::active(Mutant::WaiterUncounted) {
            self.word.fetch_add(WAITER, Ordering::Relaxed);
        }
        loop {
            if self.take(1 + if mutant::active(Mutant::WaiterUncounted) { 0 } else { WAITER }) {
                return Acquired::Permit;
            }
            let look = || if self.available() == 0 { Ok(()) } else { Err(()) };
            let address = core::ptr::from_ref(self).expose_provenance();
            let debt = Debt { settle: count_out, address };
            let ended = match wait_owing(key, look, until, lot::ANY, Some(debt)) {
                Err(()) | Ok(Ended::Chosen(_)) => continue,
                Ok(Ended::TimedOut) => Acquired::TimedOut,
                Ok(Ended::Interrupted) => Acquired::Interrupted,
                Ok(Ended::Signalled) => Acquired::Signalled,
            };
            self.word.fetch_sub(WAITER, Ordering::Relaxed);
            return ended;
        }
    }

    /// How many threads are counted as waiting.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn waiters(&self) -> u64 {
        self.word.load(Ordering::Relaxed) / WAITER
    }

    #[inline]
    fn key(&self) -> Key {
        Key::semaphore(core::ptr::from_ref(self).addr())
    }
}

/// A waiter that won't return isn't counted any more.
fn count_out(semaphore: usize, _: lot::From) {
    // SAFETY: the waiter's call on the semaphore isn't over.
    let semaphore = unsafe { &*core::ptr::with_exposed_provenance::<RawSemaphore>(semaphore) };
    semaphore.word.fetch_sub(WAITER, Ordering::Relaxed);
}
