//! The condition variable that stays within priority inheritance.
//!
//! A waiter never locks anything but its mutex, and a notification moves waiters to that mutex
//! inside the kernel, so that its owner inherits their priority from the moment they are notified.
//! There is no lock of the condition variable's own on which a notifier of high priority could wait
//! for a waiter of low priority.
//!
//! | word | changed by | means |
//! |---|---|---|
//! | sequence | every notification | a waiter that saw an older one doesn't fall asleep (P-2) |
//! | bound | waiters, when they begin and when they have ended | where the mutex is, and how many wait with it; 0 if no thread does (P-4) |

use super::{Acquired, PiError, RawPiMutex, Scope, Unsupported};
use crate::lock::Outcome;
use crate::prim::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::prim::const_unless_model;
use crate::prim::mutant::{self, Mutant};
use crate::prim::pi as kernel;
use crate::sys::clock::Deadline;
use crate::sys::syscall::Errno;
use crate::sys::thread::nap;

/// A condition variable for [`RawPiMutex`]. Zeroed memory is one without waiters.
///
/// Threads that wait at the same time must wait with the same mutex. Processes may share it with
/// that mutex if both lie in one mapping. It must live until every wait has returned, and may be
/// moved only while no thread uses it.
///
/// It counts up to 65,534 waiters at a time, among them those that were killed during a wait. Once
/// there have been more, or while there are killed ones, it belongs to their mutex for good.
///
/// Needs Linux 2.6.31 with its PI futexes; what lacks them gives [`PiError::Unsupported`].
#[derive(Debug)]
#[repr(C)]
pub struct RawPiCondvar {
    sequence: AtomicU32,
    bound: AtomicU64,
}

/// How a wait ended: with the mutex locked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiWaited {
    /// `Signalled`, also for no reason at all, or `TimedOut`: there was no notification during the
    /// wait.
    pub outcome: Outcome,
    /// How the mutex came back.
    pub acquired: Acquired,
}

/// No thread waits. Otherwise there are, from the top: the bound mutex's distance from the
/// condition variable, the same in every process, in 32-bit words; whether the mutex is private;
/// how many wait.
const UNBOUND: u64 = 0;
const PRIVATE: u64 = 1 << 16;
const WAITERS: u64 = PRIVATE - 1;
const DISTANCE: u32 = 17;
/// From here on the count stands still.
const COUNTLESS: u64 = WAITERS;

impl Default for RawPiCondvar {
    fn default() -> Self {
        Self::new()
    }
}

impl RawPiCondvar {
    const_unless_model! {
        /// A condition variable without waiters.
        pub fn new() -> Self {
            Self { sequence: AtomicU32::new(0), bound: AtomicU64::new(UNBOUND) }
        }
    }

    /// Releases `mutex`, which the caller holds, waits for a notification or the deadline, and
    /// locks it again. The deadline may be on either clock, on any kernel.
    ///
    /// As with every condition variable the wait may end for no reason: check the condition. The
    /// deadline bounds the wait for a notification, and not the lock that follows.
    ///
    /// After an error the caller does *not* hold the mutex, whatever it held before. The errors are
    /// `NotOwner`; `OtherMutex`; `Unsupported`, also for a mutex 2^48 bytes away; and those of
    /// [`RawPiMutex::lock`] when locking again, except for `NoMemory`, which is waited out.
    pub fn wait(
        &self,
        mutex: &RawPiMutex,
        deadline: Option<&Deadline>,
    ) -> Result<PiWaited, PiError> {
        if mutex.owner() != crate::lot::tid() {
            return Err(PiError::NotOwner);
        }
        if let Err(error) = self.enter(mutex) {
            mutex.unlock()?;
            return Err(error);
        }
        let mut sequence = self.sequence.load(Ordering::Relaxed);
        if let Err(error) = mutex.unlock() {
            self.leave();
            return Err(error);
        }
        if mutant::active(Mutant::SequenceReadUnlocked) {
            sequence = self.sequence.load(Ordering::Relaxed);
        }
        let slept =
            kernel::wait_requeue(&self.sequence, sequence, mutex.word(), mutex.scope(), deadline);
        let locked = match slept {
            Ok(()) => Ok(mutex.given()),
            Err(_) => lock_again(mutex),
        };
        // Not before: until it has the mutex again it is to hear of notifications (P-3).
        if locked.is_ok() || !mutant::active(Mutant::ErrorStaysCounted) {
            self.leave();
        }
        let acquired = locked?;
        match slept {
            Err(Errno(libc::ETIMEDOUT)) if self.no_notification_since(sequence) => {
                Ok(PiWaited { outcome: Outcome::TimedOut, acquired })
            }
            // The sequence had moved on, a signal handler ran, or time was over after a move.
            Ok(()) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ETIMEDOUT)) => {
                Ok(PiWaited { outcome: Outcome::Signalled, acquired })
            }
            Err(errno) => {
                mutex.unlock()?;
                Err(PiError::of(errno, "FUTEX_WAIT_REQUEUE_PI", "Linux 2.6.31"))
            }
        }
    }

    /// Lets one waiter go on, if there is one: the one of the highest priority, and among equals
    /// the one that has waited longest. Returns whether one was moved to the mutex.
    ///
    /// The caller need not hold the mutex. One load if no thread waits. A waiter that has released
    /// the mutex but isn't asleep yet goes on too, and isn't counted.
    ///
    /// Fails if the kernel can't attach waiters to the mutex: `OwnerGone`, `Deadlock` (a waiter
    /// holds another PI lock that the mutex's owner waits for), `NoMemory`, `Corrupt`,
    /// `Unsupported`. Waiters that sleep then sleep on.
    #[inline]
    pub fn notify_one(&self) -> Result<bool, PiError> {
        Ok(self.has_waiters() && self.notify(0)? != 0)
    }

    /// Lets all waiters go on, the one of the highest priority first. Returns how many were moved
    /// to the mutex: at most one of them is woken by this call, and only if the mutex is free.
    ///
    /// Otherwise as [`notify_one`](Self::notify_one).
    #[inline]
    pub fn notify_all(&self) -> Result<usize, PiError> {
        if self.has_waiters() { self.notify(u32::MAX) } else { Ok(0) }
    }

    #[inline]
    fn has_waiters(&self) -> bool {
        // Relaxed: a waiter that the caller must not miss bound the mutex before it released it,
        // and the caller has had that mutex since (P-2).
        self.bound.load(Ordering::Relaxed) != UNBOUND
    }

    #[cold]
    fn notify(&self, others: u32) -> Result<usize, PiError> {
        if !mutant::active(Mutant::SequenceKept) {
            self.sequence.fetch_add(1, Ordering::Relaxed);
        }
        loop {
            let bound = self.bound.load(Ordering::Relaxed);
            if bound == UNBOUND {
                return Ok(0);
            }
            let (mutex, scope) = self.mutex_of(bound);
            // The kernel insists on a comparison; there is nothing that it could tell here.
            let sequence = self.sequence.load(Ordering::Relaxed);
            let moved = kernel::compare_requeue(&self.sequence, sequence, others, mutex, scope);
            match moved {
                Ok(moved) => return Ok(moved),
                Err(Errno(libc::EAGAIN)) if mutant::active(Mutant::RequeueNotRepeated) => {
                    return Ok(0);
                }
                // Another notification came in between; it moves its own waiters, not this one's.
                Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
                // The mutex that was bound is gone, or others are here with another one.
                Err(Errno(libc::EINVAL | libc::EFAULT | libc::ESRCH | libc::EPERM))
                    if !same(self.bound.load(Ordering::Relaxed), bound) => {}
                Err(errno) => {
                    return Err(PiError::of(errno, "FUTEX_CMP_REQUEUE_PI", "Linux 2.6.31"));
                }
            }
        }
    }

    /// The caller holds `mutex` and is about to wait with it.
    fn enter(&self, mutex: &RawPiMutex) -> Result<(), PiError> {
        let binding = self.binding(mutex)?;
        // Relaxed, as in `leave`: nothing else says which thread waits with which mutex (P-4).
        let mut bound = self.bound.load(Ordering::Relaxed);
        loop {
            let new = match bound {
                UNBOUND => binding | 1,
                other if !same(other, binding) => return Err(PiError::OtherMutex),
                countless if countless & WAITERS == COUNTLESS => return Ok(()),
                counted => counted + 1,
            };
            match self.exchange(bound, new) {
                Ok(_) => return Ok(()),
                Err(now) => bound = now,
            }
        }
    }

    /// The caller's wait has ended. It may not hold the mutex.
    fn leave(&self) {
        let mut bound = self.bound.load(Ordering::Relaxed);
        loop {
            assert!(cfg!(not(any(loom, shuttle))) || bound & WAITERS != 0);
            let new = match bound & WAITERS {
                COUNTLESS => return,
                1 => UNBOUND,
                _ if mutant::active(Mutant::UnboundByAnyWaiter) => UNBOUND,
                _ => bound - 1,
            };
            match self.exchange(bound, new) {
                Ok(_) => return,
                Err(now) => bound = now,
            }
        }
    }

    fn exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
        if mutant::active(Mutant::CountedInTwoSteps) {
            self.bound.store(new, Ordering::Relaxed);
            return Ok(old);
        }
        self.bound.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed)
    }

    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn counts_no_waiters(&self) -> bool {
        self.bound.load(Ordering::Relaxed) == UNBOUND
    }

    /// A notification may have chosen a waiter that its deadline then took out of the mutex's
    /// queue: such a waiter must not say that there was none (P-3).
    fn no_notification_since(&self, sequence: u32) -> bool {
        self.sequence.load(Ordering::Relaxed) == sequence
            || mutant::active(Mutant::NotificationTimedOut)
    }

    /// What `bound` holds while a wait with `mutex` goes on, apart from the count.
    fn binding(&self, mutex: &RawPiMutex) -> Result<u64, PiError> {
        let address = core::ptr::from_ref(mutex.word()).expose_provenance();
        let words = (address.wrapping_sub(self.address()) as isize / 4) as i64;
        let distance = (words as u64) << DISTANCE;
        if distance as i64 >> DISTANCE != words {
            let call = "condition variable that far from its mutex";
            return Err(Unsupported { call, since: "nothing so far" }.into());
        }
        let private = if mutex.scope() == Scope::Private { PRIVATE } else { 0 };
        Ok(distance | private)
    }

    fn mutex_of(&self, bound: u64) -> (usize, Scope) {
        let scope = if bound & PRIVATE == 0 { Scope::Shared } else { Scope::Private };
        let distance = (bound as i64 >> DISTANCE) as isize * 4;
        (self.address().wrapping_add(distance as usize), scope)
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }
}

/// Whether both are bound to the same mutex.
fn same(bound: u64, other: u64) -> bool {
    (bound ^ other) & !WAITERS == 0
}

/// Locks a mutex that the kernel hasn't given back.
fn lock_again(mutex: &RawPiMutex) -> Result<Acquired, PiError> {
    loop {
        match mutex.lock() {
            Err(PiError::NoMemory) => nap(),
            result => return result,
        }
    }
}
