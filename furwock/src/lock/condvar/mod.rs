//! The condition variable that moves its waiters instead of waking them to block again
//! (Molnar 2003, "futex requeueing").
//!
//! The word says whether any waiter may be queued at its address, and is written under the bucket
//! lock:
//!
//! | word | name | meaning |
//! |---|---|---|
//! | 0 | NO_WAITERS | no thread waits |
//! | 1 | WAITERS | one may |
//! | 2 | WOKE_LAST | none does; the last was woken early, on the only processor |
//! | 3 | SIGNALLED | the same, and there was a notification since |
//!
//! | from | by | to |
//! |---|---|---|
//! | any | a waiter that queues | WAITERS |
//! | WAITERS | a waiter that leaves, a notification: it was the last | NO_WAITERS |
//! | WAITERS | a notification that wakes the last early, on the only processor | WOKE_LAST |
//! | WOKE_LAST | a notification | SIGNALLED |
//! | SIGNALLED | a notification, which tells (`RawMutex::signals_on`) | NO_WAITERS |
//!
//! A waiter queues itself there, then releases the mutex. A notification hands waiters to the mutex
//! (`RawMutex::receive`): it moves them to the queue of a mutex that is held, whose release will
//! wake the first, and wakes them if the mutex is free. A broadcast moves all but those that it
//! wakes. So no thread is woken before it can have the mutex, with one exception: a signal, or a
//! broadcast where one thread waits, wakes its waiter at once, unless threads woken so had to sleep
//! again for the mutex (`RawMutex::signal_wakes_as`). The ordering arguments are in ORDERING.md
//! (C-1 ff.).

pub(crate) mod task;
mod wait;

use super::mutex::RawMutex;
use crate::lot::{self, Key, LockedPair, Queued};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::Deadline;
use core::cell::Cell;
use wait::wait_released;

/// What the preload needs of a condvar. Unstable.
pub mod unstable {
    pub use super::wait::{CondvarWait, wait_released};

    /// Whether there may be any waiter for `notify_one` to let go on. False is certain, as it is
    /// there.
    #[inline]
    pub fn may_have_waiters(condvar: &super::RawCondvar) -> bool {
        condvar.may_have_waiters()
    }
}

const NO_WAITERS: u32 = 0;
const WAITERS: u32 = 1;
const WOKE_LAST: u32 = 2;
const SIGNALLED: u32 = 3;

/// A condition variable without a mutex of its own: one word, zero in a new one.
///
/// Threads that wait at the same time should wait with the same mutex: one that waits with another
/// than the first is woken rather than moved. Its memory may be freed as soon as no thread waits or
/// is about to: right after the broadcast that wakes the last, for example.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawCondvar {
    word: AtomicU32,
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

impl Default for RawCondvar {
    fn default() -> Self {
        Self::new()
    }
}

impl RawCondvar {
    /// A condition variable without waiters.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(NO_WAITERS) }
    }

    /// A condition variable without waiters.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self { word: AtomicU32::new(NO_WAITERS) }
    }

    /// One whose last waiter a signal woke early; another came since, or not.
    #[cfg(all(test, loom))]
    pub(crate) fn with_last_woken_early(was_signalled: bool) -> Self {
        let word = if was_signalled { SIGNALLED } else { WOKE_LAST };
        Self { word: AtomicU32::new(word) }
    }

    /// Whether the word says that no thread waits.
    #[cfg(all(test, shuttle))]
    pub(crate) fn says_no_waiters(&self) -> bool {
        self.word.load(Ordering::Relaxed) != WAITERS
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
        let noted = Cell::new(false);
        // SAFETY: unlocking neither unwinds nor waits; the mutex is borrowed until it is relocked.
        let wait = unsafe { wait_released(self, Some(mutex), release, deadline, false, &noted) };
        wait.relock(mutex)
    }

    #[inline]
    fn may_have_waiters(&self) -> bool {
        self.word.load(Ordering::Relaxed) != NO_WAITERS
    }

    /// Lets one waiter go on, if there is one: the one that has waited longest. Returns whether.
    ///
    /// One load if no thread waits. (With one processor, two calls after one that woke the last
    /// waiter may take the bucket's lock.)
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
                let first = bucket.first(key);
                let none_waits = first.is_none() || mutant::active(Mutant::WaiterNotOverMark);
                if none_waits && self.notes_signal() {
                    return 0;
                }
                let mutex = first.map_or(0, Queued::token);
                // A broadcast to one waiter is a signal.
                let lets_one_go = most == 1 || first.and_then(|it| bucket.after(it)).is_none();
                if mutex == 0 {
                    let chosen = bucket.choose_many(key, most, lot::ANY);
                    self.forget_waiters_if_none_locked(&bucket, chosen);
                    return chosen;
                }
                // SAFETY: as below.
                let signal = || unsafe { mutex_at(mutex) }.signal_wakes_as();
                if let Some(verdict) = lets_one_go.then(signal).flatten() {
                    // SAFETY: as below; the waiter isn't chosen yet.
                    let will_tell = unsafe { mutex_at(mutex) }.have_signaller_tell(verdict);
                    let chosen = bucket.choose_first(key, verdict).into();
                    self.forget_waiters_if_none_locked(&bucket, chosen);
                    if will_tell {
                        self.change_word(NO_WAITERS, WOKE_LAST);
                    }
                    return chosen;
                }
                mutex
            };
            // The mutex's bucket has to be locked too, in the order of the buckets.
            let mut pair = lot::lock_pair(key, Key::mutex(mutex));
            let same = |pair: &LockedPair<'_>| {
                pair.from.first(key).is_some_and(|waiter| waiter.token() == mutex)
            };
            if same(&pair) {
                // SAFETY: a waiter that is queued here waits with this mutex, and will lock it
                // again: so it exists, as long as the bucket's lock keeps the waiter queued.
                let notified = unsafe { mutex_at(mutex) }.receive(&mut pair, key, most);
                self.forget_waiters_if_none_locked(&pair.from, notified);
                return notified;
            }
        }
    }

    /// Marks that a thread may wait. The bucket is locked.
    fn mark_waiter(&self) {
        if !(mutant::active(Mutant::WaiterNotOverMark) && self.may_have_waiters()) {
            self.word.store(WAITERS, Ordering::Relaxed);
        }
    }

    /// Notes a notification that found no waiter, after a signal had woken the last early. False if
    /// none had: the word's mark may stand for another process's waiter. The bucket is locked.
    fn notes_signal(&self) -> bool {
        if self.change_word(WOKE_LAST, SIGNALLED) {
            return true;
        }
        let is_second = self.change_word(SIGNALLED, NO_WAITERS);
        if is_second {
            RawMutex::signals_on();
        }
        is_second
    }

    /// Changes the word, if it is `from`, and returns whether it was. (A process that shares the
    /// condvar though it doesn't say so may mark a waiter at any moment.)
    fn change_word(&self, from: u32, to: u32) -> bool {
        let relaxed = Ordering::Relaxed;
        self.word.load(relaxed) == from
            && self.word.compare_exchange(from, to, relaxed, relaxed).is_ok()
    }

    /// `bucket` is this condvar's, locked. The caller was called on a live condvar, so that the
    /// word may be written even if this lets the last waiter go: it can't return before the bucket
    /// lock is dropped.
    ///
    /// A mark for which this process had no waiter may stand for another's: programs let processes
    /// share a condvar that doesn't say so. In a forked child it is most likely the parent's, left
    /// in the child's own copy.
    fn forget_waiters_if_none_locked(&self, bucket: &lot::Locked<'_>, notified: usize) {
        let was_own = notified != 0 || sys::fork::is_child();
        if (was_own && !bucket.has(self.key())) || mutant::active(Mutant::MarkClearedTooSoon) {
            self.word.store(NO_WAITERS, Ordering::Relaxed);
        }
    }
}

/// # Safety
/// `address` is a mutex's that a waiter gave as its token, and that waiter is still queued, under
/// its bucket's lock, for as long as the mutex is used.
unsafe fn mutex_at<'m>(address: usize) -> &'m RawMutex {
    // SAFETY: by this function's contract: the waiter's call keeps the mutex alive.
    unsafe { &*core::ptr::with_exposed_provenance::<RawMutex>(address) }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    #[cfg(not(any(miri, simulated)))]
    use crate::lock::spin::SIGNALS;
    #[cfg(not(any(miri, simulated)))]
    use std::{
        thread,
        time::{Duration, Instant},
    };

    /// It stands for another process's waiter, if the condvar lies in shared memory.
    #[test]
    fn a_notification_leaves_a_mark_that_is_not_its_own_processes() {
        let condvar = RawCondvar::new();
        condvar.word.store(WAITERS, Ordering::Relaxed);
        assert!(!condvar.notify_one());
        assert_eq!(condvar.notify_all(), 0);
        assert!(condvar.may_have_waiters());
    }

    /// How many wakes of waiters, though their mutex was held, are charged, after a broadcast to so
    /// many by the thread that holds it.
    #[cfg(not(any(miri, simulated)))]
    fn charged_after_broadcast_to(waiters: usize) -> u32 {
        let (mutex, condvar) = (RawMutex::new(), RawCondvar::new());
        let key = Key::mutex(core::ptr::from_ref(&mutex).addr());
        thread::scope(|scope| {
            for _ in 0..waiters {
                scope.spawn(|| {
                    mutex.lock();
                    condvar.wait(&mutex, None);
                    mutex.unlock();
                });
            }
            let end = Instant::now() + Duration::from_secs(60);
            while lot::lock(condvar.key()).count(condvar.key()) < waiters {
                assert!(Instant::now() < end);
                thread::yield_now();
            }
            mutex.lock();
            let learnt = &lot::advice(key)[SIGNALS];
            learnt.store(0, Ordering::Relaxed);
            assert_eq!(condvar.notify_all(), waiters);
            let charged = learnt.load(Ordering::Relaxed) & 0xff;
            mutex.unlock();
            charged
        })
    }

    #[test]
    #[cfg(not(any(miri, simulated)))]
    fn a_broadcast_wakes_one_waiter_as_a_signal_does_and_moves_several() {
        if lot::are_there_ranks() {
            return;
        }
        // (Another test's mutex may be in the same bucket.)
        assert!((0..100).any(|_| charged_after_broadcast_to(1) == 1));
        assert!((0..100).any(|_| charged_after_broadcast_to(2) == 0));
    }

    #[test]
    fn two_signals_after_one_that_woke_the_last_early_are_noted() {
        let condvar = RawCondvar::new();
        condvar.word.store(WOKE_LAST, Ordering::Relaxed);
        let next = |notify: fn(&RawCondvar) -> usize| {
            assert_eq!(notify(&condvar), 0);
            condvar.word.load(Ordering::Relaxed)
        };
        assert_eq!(next(|condvar| condvar.notify_one().into()), SIGNALLED);
        assert_eq!(next(RawCondvar::notify_all), NO_WAITERS);
        assert_eq!(next(|condvar| condvar.notify_one().into()), NO_WAITERS);
    }
}
