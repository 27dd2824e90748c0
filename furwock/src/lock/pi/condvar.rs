//! The condition variable that stays within priority inheritance.
//!
//! A waiter never locks anything but its mutex, and a notification moves waiters to that mutex
//! inside the kernel, so that from the moment they are notified their priority counts for whoever
//! holds it. There is no lock of the condition variable's own on which a notifier of high priority
//! could wait for a waiter of low priority.
//!
//! | word | changed by | means |
//! |---|---|---|
//! | sequence | every notification | a waiter that saw an older one doesn't fall asleep (P-2) |
//! | waiters | waiters, under their mutex | how many have begun to wait and not ended |
//! | bound | the first and the last waiter, under their mutex | where the mutex is; 0 if nobody waits (P-4) |

use super::{Acquired, PiError, RawPiMutex, Scope};
use crate::lock::Outcome;
use crate::prim::atomic::{AtomicIsize, AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::pi as kernel;
use crate::sys::clock::Deadline;
use crate::sys::syscall::Errno;
use crate::sys::thread::nap;

/// A condition variable for [`RawPiMutex`]. Zeroed memory is one that nobody waits on.
///
/// Those who wait at the same time must wait with the same mutex. Processes may share it with that
/// mutex if both lie in one mapping. It must live until every wait has returned, and may be moved
/// only while nobody uses it.
///
/// Needs Linux 2.6.31 with its PI futexes; what lacks them gives [`PiError::Unsupported`].
#[derive(Debug)]
#[repr(C)]
pub struct RawPiCondvar {
    sequence: AtomicU32,
    waiters: AtomicU32,
    bound: AtomicIsize,
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

/// Nobody waits. The bound mutex's distance from the condition variable is never 0, and as a
/// distance it is the same in every process. Its lowest bit, being free, says whether the mutex is
/// private.
const UNBOUND: isize = 0;
const PRIVATE: isize = 1;

impl Default for RawPiCondvar {
    fn default() -> Self {
        Self::new()
    }
}

impl RawPiCondvar {
    /// A condition variable that nobody waits on.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self {
            sequence: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
            bound: AtomicIsize::new(UNBOUND),
        }
    }

    /// A condition variable that nobody waits on.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self {
            sequence: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
            bound: AtomicIsize::new(UNBOUND),
        }
    }

    /// Releases `mutex`, which the caller holds, waits for a notification or the deadline, and locks
    /// it again. The deadline may be on either clock, on any kernel.
    ///
    /// As with every condition variable the wait may end for no reason: check the condition. The
    /// deadline bounds the wait for a notification, and not the lock that follows.
    ///
    /// After an error the caller does *not* hold the mutex, whatever it held before. The errors are
    /// `NotOwner`; `OtherMutex`; `Unsupported`; and those of [`RawPiMutex::lock`] when locking again,
    /// except for `NoMemory`, which is waited out.
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
        // What an error leaves is a mutex that nobody can use; the waiter stays counted.
        mutex.unlock()?;
        if mutant::active(Mutant::SequenceReadUnlocked) {
            sequence = self.sequence.load(Ordering::Relaxed);
        }
        let slept =
            kernel::wait_requeue(&self.sequence, sequence, mutex.word(), mutex.scope(), deadline);
        let acquired = match slept {
            Ok(()) => mutex.given(),
            Err(_) => lock_again(mutex)?,
        };
        self.leave();
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

    /// Lets one waiter go on, if there is one: the one of the highest priority, and among equals the
    /// one that has waited longest. Returns whether one was moved to the mutex.
    ///
    /// The caller need not hold the mutex. One load if nobody waits. A waiter that has released the
    /// mutex but isn't asleep yet goes on too, and isn't counted.
    ///
    /// Fails if the kernel can't attach waiters to the mutex: `OwnerGone`, `Deadlock` (a waiter
    /// holds another PI lock that the mutex's owner waits for), `NoMemory`, `Corrupt`,
    /// `Unsupported`. Waiters that sleep then sleep on.
    #[inline]
    pub fn notify_one(&self) -> Result<bool, PiError> {
        Ok(self.has_waiters() && self.notify(0)? != 0)
    }

    /// Lets all waiters go on, the one of the highest priority first. Returns how many were moved to
    /// the mutex: at most one of them is woken by this call, and only if the mutex is free.
    ///
    /// Otherwise as [`notify_one`](Self::notify_one).
    #[inline]
    pub fn notify_all(&self) -> Result<usize, PiError> {
        if self.has_waiters() { self.notify(u32::MAX) } else { Ok(0) }
    }

    #[inline]
    fn has_waiters(&self) -> bool {
        // Relaxed: a waiter that the caller must not miss bound the mutex before it released it, and
        // the caller has had that mutex since (P-2).
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
                    if self.bound.load(Ordering::Relaxed) != bound => {}
                Err(errno) => {
                    return Err(PiError::of(errno, "FUTEX_CMP_REQUEUE_PI", "Linux 2.6.31"));
                }
            }
        }
    }

    /// The caller holds `mutex` and is about to wait with it.
    fn enter(&self, mutex: &RawPiMutex) -> Result<(), PiError> {
        let bound = self.binding(mutex);
        // Acquire: the last who waited with another mutex has left `waiters` at 0 (P-4).
        match self.bound.compare_exchange(UNBOUND, bound, Ordering::Acquire, Ordering::Relaxed) {
            Err(other) if other != bound => return Err(PiError::OtherMutex),
            _ => {}
        }
        // The bound mutex is held: nobody else writes.
        self.waiters.store(self.waiters.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(())
    }

    /// The caller holds the mutex again.
    fn leave(&self) {
        let waiters = self.waiters.load(Ordering::Relaxed) - 1;
        self.waiters.store(waiters, Ordering::Relaxed);
        if waiters == 0 || mutant::active(Mutant::UnboundByAnyWaiter) {
            self.bound.store(UNBOUND, Ordering::Release);
        }
    }

    /// A notification may have chosen a waiter that its deadline then took out of the mutex's queue:
    /// such a waiter must not say that there was none (P-3).
    fn no_notification_since(&self, sequence: u32) -> bool {
        self.sequence.load(Ordering::Relaxed) == sequence
            || mutant::active(Mutant::NotificationTimedOut)
    }

    fn binding(&self, mutex: &RawPiMutex) -> isize {
        let address = core::ptr::from_ref(mutex.word()).expose_provenance();
        let distance = address.wrapping_sub(self.address()) as isize;
        distance | if mutex.scope() == Scope::Private { PRIVATE } else { 0 }
    }

    fn mutex_of(&self, bound: isize) -> (usize, Scope) {
        let scope = if bound & PRIVATE == 0 { Scope::Shared } else { Scope::Private };
        (self.address().wrapping_add((bound & !PRIVATE) as usize), scope)
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }
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
