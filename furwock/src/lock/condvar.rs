//! The condition variable that moves its waiters instead of waking them to block again
//! (Molnar 2003, "futex requeueing").
//!
//! The word says whether any waiter may be queued at its address: 1 or 0, written under the bucket
//! lock. A waiter queues itself there, then releases the mutex. A notification hands waiters to the
//! mutex (`RawMutex::receive`): it moves them to the queue of a mutex that is held, whose release will
//! wake the first, and wakes them if the mutex is free. A broadcast moves all but those that it wakes. So
//! no thread is woken before it can have the mutex. The ordering arguments are in ORDERING.md (C-1 ff.).

use super::mutex::RawMutex;
use crate::lot::{self, Debt, Ended, From, Key, LockedPair, Place, Verdict, Wait};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::{Clock, Deadline};
use crate::sys::thread::nap;
use core::cell::Cell;

const NOBODY: u32 = 0;
const WAITERS: u32 = 1;

/// A condition variable without a mutex of its own: one word, zero when nobody waits.
///
/// All who wait at the same time should wait with the same mutex; who doesn't is woken rather than
/// moved. Its memory may be freed as soon as no thread waits or is about to: right after the
/// broadcast that wakes the last, for example.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawCondvar {
    word: AtomicU32,
}

/// How a wait on a condition variable ended, and what the waiter owes the mutex.
#[must_use = "the mutex has to be locked again"]
#[derive(Debug)]
pub struct CondvarWait {
    outcome: Outcome,
    verdict: Verdict,
}

/// How a wait on a condition variable ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By a signal or broadcast, or for no reason at all.
    Signalled,
    /// The deadline passed before any signal.
    TimedOut,
    /// The thread was interrupted before any signal.
    Interrupted,
    /// The mutex could not be released; nothing was waited for.
    NotReleased,
}

impl CondvarWait {
    fn new(outcome: Outcome, verdict: Verdict) -> Self {
        Self { outcome, verdict }
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Locks the mutex again; `mutex` must be the one waited with. Acquire.
    pub fn relock(self, mutex: &RawMutex) -> Outcome {
        mutex.lock_chosen(self.verdict);
        self.outcome
    }
}

impl Default for RawCondvar {
    fn default() -> Self {
        Self::new()
    }
}

impl RawCondvar {
    /// A condition variable that nobody waits on.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(NOBODY) }
    }

    /// A condition variable that nobody waits on.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self { word: AtomicU32::new(NOBODY) }
    }

    /// Whether the word says that nobody waits.
    #[cfg(all(test, shuttle))]
    pub(crate) fn says_nobody(&self) -> bool {
        self.word.load(Ordering::Relaxed) == NOBODY
    }

    /// Releases `mutex`, which the caller holds, waits for a signal or the deadline, and locks it
    /// again. Returns `TimedOut` only if no signal had chosen the caller.
    ///
    /// As with every condition variable the wait may end for no reason: check the condition.
    pub fn wait(&self, mutex: &RawMutex, deadline: Option<&Deadline>) -> Outcome {
        let release = || {
            mutex.unlock();
            true
        };
        // SAFETY: unlocking neither unwinds nor waits; the mutex is borrowed until it is relocked.
        let wait = unsafe { self.wait_released(Some(mutex), release, deadline, false) };
        wait.relock(mutex)
    }

    /// Queues the caller, calls `release`, which must release the mutex, and waits. If `release`
    /// can't, it returns false: then the wait is over, `NotReleased`.
    ///
    /// `mutex` is where a signal may move the waiter to; with `None` it is always woken. An
    /// `interruptible` wait ends when the thread is interrupted, unless it has been signalled.
    ///
    /// # Safety
    /// `release` neither unwinds nor waits. If there is a `mutex`, it lives until the caller has
    /// called `relock` with it on what this returns, which it does before anything else.
    pub unsafe fn wait_released(
        &self,
        mutex: Option<&RawMutex>,
        release: impl FnOnce() -> bool,
        deadline: Option<&Deadline>,
        interruptible: bool,
    ) -> CondvarWait {
        // SAFETY: by this function's contract.
        unsafe {
            self.wait_released_noting(mutex, release, deadline, interruptible, &Cell::new(false))
        }
    }

    /// `wait_released`; if a signal handler leaves the wait for good, `was_notified` tells whether a
    /// notification had come to it.
    ///
    /// # Safety
    /// As for `wait_released`.
    pub unsafe fn wait_released_noting(
        &self,
        mutex: Option<&RawMutex>,
        release: impl FnOnce() -> bool,
        deadline: Option<&Deadline>,
        interruptible: bool,
        was_notified: &Cell<bool>,
    ) -> CondvarWait {
        let key = self.key();
        let owed = Owed { mutex, was_notified };
        let token = mutex.map_or(0, |mutex| core::ptr::from_ref(mutex).expose_provenance());
        let Some(node) = lot::node() else {
            return wait_without_memory(release, deadline);
        };
        let mut release = Some(release);
        if mutant::active(Mutant::UnlockBeforeEnqueue) {
            release.take().map(|release| release());
        }
        let mut bucket = lot::announce(key);
        self.word.store(WAITERS, Ordering::Relaxed);
        let mut wait = Wait::enqueue(&mut bucket, &node, key, token, Place::Back)
            .until(deadline)
            .interruptible(interruptible)
            .deadline_ends_when_moved();
        wait = wait.owing(Debt { settle: left, address: (&raw const owed).expose_provenance() });
        drop(bucket);
        // From here on a signal finds the waiter (C-1).
        let released = release.is_none_or(|release| release());
        let over = Deadline::at(Clock::Monotonic, 0, 0);
        if !released {
            wait = wait.until(over.as_ref());
        }
        // A waiter that leaves does so under the bucket lock, and doesn't touch the condvar again:
        // it may be destroyed once it counts as having no waiters (C-4).
        let ended = wait.sleep(|was_last| {
            if was_last {
                self.word.store(NOBODY, Ordering::Relaxed);
            }
        });
        match ended {
            Ended::Chosen(verdict) if !released => {
                // The signal was for somebody who really waits.
                self.notify_one();
                CondvarWait::new(Outcome::NotReleased, verdict)
            }
            _ if !released => CondvarWait::new(Outcome::NotReleased, Verdict::WOKEN),
            Ended::Chosen(verdict) => CondvarWait::new(Outcome::Signalled, verdict),
            Ended::TimedOut => CondvarWait::new(Outcome::TimedOut, Verdict::WOKEN),
            Ended::Interrupted | Ended::Signalled => {
                CondvarWait::new(Outcome::Interrupted, Verdict::WOKEN)
            }
        }
    }

    /// Whether there may be anybody for [`notify_one`](Self::notify_one) to let go on. False is certain, as
    /// it is there.
    #[inline]
    pub fn may_have_waiters(&self) -> bool {
        self.word.load(Ordering::Relaxed) != NOBODY
    }

    /// Lets one waiter go on, if there is one: the one that has waited longest. Returns whether.
    ///
    /// One load if nobody waits.
    #[inline]
    pub fn notify_one(&self) -> bool {
        // Relaxed: a waiter that the caller must not miss queued itself before it released the
        // mutex, and the caller has had the mutex since (C-1).
        self.may_have_waiters() && self.notify(1) != 0
    }

    /// Lets all waiters go on. Returns how many there were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        if self.may_have_waiters() { self.notify(usize::MAX) } else { 0 }
    }

    #[inline]
    fn key(&self) -> Key {
        Key::condvar(core::ptr::from_ref(&self.word).addr())
    }

    #[cold]
    fn notify(&self, most: usize) -> usize {
        let key = self.key();
        loop {
            let mutex = {
                let mut bucket = lot::lock(key);
                let mutex = bucket.first(key).map_or(0, |waiter| bucket.told_by(waiter).0);
                if mutex == 0 {
                    let chosen = bucket.choose_many(key, most, lot::ANY);
                    self.forget_waiters_if_none_locked(&bucket);
                    return chosen;
                }
                mutex
            };
            // The mutex's bucket has to be locked too, in the order of the buckets.
            let mut pair = lot::lock_pair(key, Key::mutex(mutex));
            let same = |pair: &LockedPair<'_>| {
                pair.from.first(key).is_some_and(|waiter| pair.from.told_by(waiter).0 == mutex)
            };
            if same(&pair) {
                // SAFETY: a waiter that is queued here waits with this mutex, and will lock it
                // again: so it exists, as long as the bucket's lock keeps the waiter queued.
                let mutex = unsafe { &*core::ptr::with_exposed_provenance::<RawMutex>(mutex) };
                let notified = mutex.receive(&mut pair, key, most);
                self.forget_waiters_if_none_locked(&pair.from);
                return notified;
            }
        }
    }

    /// `bucket` is this condvar's, locked. The caller was called on a live condvar, so that the
    /// word may be written even if this lets the last waiter go: it can't return before the bucket
    /// lock is dropped.
    fn forget_waiters_if_none_locked(&self, bucket: &lot::Locked<'_>) {
        if !bucket.has(self.key()) || mutant::active(Mutant::MarkClearedTooSoon) {
            self.word.store(NOBODY, Ordering::Relaxed);
        }
    }
}

/// What a waiter that leaves for good owes.
struct Owed<'w> {
    mutex: Option<&'w RawMutex>,
    was_notified: &'w Cell<bool>,
}

fn left(owed: usize, from: From) {
    // SAFETY: in the frame of the wait, which is not over.
    let owed = unsafe { &*core::ptr::with_exposed_provenance::<Owed<'_>>(owed) };
    owed.was_notified.set(from != From::Queue);
    if let (Some(mutex), From::Chosen) = (owed.mutex, from) {
        mutex.wake_all();
    }
}

/// A wait that ends soon and for no reason, since the kernel has no memory for the waiter's node.
#[cold]
fn wait_without_memory(release: impl FnOnce() -> bool, deadline: Option<&Deadline>) -> CondvarWait {
    if !release() {
        return CondvarWait::new(Outcome::NotReleased, Verdict::WOKEN);
    }
    nap();
    let timed_out = deadline.is_some_and(Deadline::has_passed);
    let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Signalled };
    CondvarWait::new(outcome, Verdict::WOKEN)
}
