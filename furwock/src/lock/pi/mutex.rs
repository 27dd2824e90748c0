//! The priority-inheriting mutex: a CAS each way while no thread waits, the kernel otherwise.

#[cfg(not(any(loom, shuttle)))]
use super::word::WAITERS;
use super::word::{self, FREE, OWNER_DIED};
use super::{PiError, Scope};
use crate::lot;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::const_unless_model;
use crate::prim::pi as kernel;
use crate::sys::clock::Deadline;
use crate::sys::syscall::Errno;
use crate::sys::thread::nap;

/// A mutex whose waiters lend their priority to its owner. Two words; zeroed memory is a free one
/// of [`Scope::Shared`].
///
/// Locking and unlocking cost one atomic operation each while no other thread wants the lock. A
/// thread that has to wait does so in the kernel, which runs the owner at the priority of the first
/// waiter, through chains of such locks, and hands the lock to the waiter of the highest priority.
///
/// Not recursive: the owner gets [`PiError::Deadlock`]. Not robust: an owner that ends without
/// unlocking passes the lock on to a thread that is waiting for it at that moment, and that thread
/// gets [`Acquired::OwnerDied`]; later ones get [`PiError::OwnerGone`], or wait for a thread that
/// has been given the same id since.
///
/// The word holds thread ids, so that all processes that share a lock must be in one PID namespace.
/// What a thread holds when it forks stays the parent's: the child must not touch it. A child that
/// wasn't made by `fork`, or whose handlers haven't run yet, takes itself for its parent's thread:
/// see the crate's documentation.
///
/// Its memory may be freed as soon as it has been unlocked for the last time, even while `unlock`
/// is still returning in another thread. It may be moved only while no thread uses it.
#[derive(Debug)]
#[repr(C)]
pub struct RawPiMutex {
    word: AtomicU32,
    /// Not a `Scope`, so that any bytes are valid.
    private: u32,
}

/// How a lock was acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acquired {
    /// It was free, or its owner unlocked it.
    Properly,
    /// Its owner ended while holding it: what the lock protects may be half changed. Reported once,
    /// to the next owner.
    OwnerDied,
}

/// How often, a millisecond apart, a word may contradict the kernel before it counts as corrupt.
const CONTRADICTIONS: u32 = 20;

impl RawPiMutex {
    const_unless_model! {
        /// A free mutex.
        pub fn new(scope: Scope) -> Self {
            Self { word: AtomicU32::new(FREE), private: matches!(scope, Scope::Private) as u32 }
        }
    }

    /// Takes the lock, waiting as long as it takes. Acquire.
    ///
    /// Fails as [`PiError`] says: `Deadlock`, `OwnerGone`, `NoMemory`, `Corrupt`, `Unsupported`.
    #[inline]
    pub fn lock(&self) -> Result<Acquired, PiError> {
        if self.try_lock_fast() { Ok(Acquired::Properly) } else { self.lock_slow(None) }
    }

    /// Takes the lock, or gives up at `deadline` with [`PiError::TimedOut`]. Acquire on success.
    ///
    /// A deadline that has passed still takes a lock that is free. Waiting for a deadline on the
    /// monotonic clock takes Linux 5.14 (`FUTEX_LOCK_PI2`); older kernels count on the time of day
    /// only. Such a deadline is not converted, since setting the clock would then move it: the
    /// caller gets `Unsupported`, and may choose a deadline on [`Clock::Realtime`].
    ///
    /// [`Clock::Realtime`]: crate::Clock::Realtime
    #[inline]
    pub fn lock_until(&self, deadline: &Deadline) -> Result<Acquired, PiError> {
        if self.try_lock_fast() { Ok(Acquired::Properly) } else { self.lock_slow(Some(deadline)) }
    }

    /// Takes the lock if no thread holds it. Acquire on success.
    ///
    /// No system call, unless a dead owner has left marks in the word.
    #[inline]
    pub fn try_lock(&self) -> Option<Acquired> {
        if self.try_lock_fast() { Some(Acquired::Properly) } else { self.try_lock_slow() }
    }

    /// Releases the lock. Release. Fails with [`PiError::NotOwner`] and does nothing if the caller
    /// doesn't hold it.
    ///
    /// If a thread waits the lock is handed over: it is never free in between.
    #[inline]
    pub fn unlock(&self) -> Result<(), PiError> {
        // After the release the mutex may be gone: nothing below touches it once it has succeeded.
        match self.exchange(lot::tid(), FREE, Ordering::Release) {
            Ok(_) => Ok(()),
            Err(_) => self.unlock_slow(),
        }
    }

    /// The kernel id of the thread that holds the lock, 0 if none does.
    #[inline]
    pub fn owner(&self) -> u32 {
        word::owner(self.word.load(Ordering::Relaxed))
    }

    /// Whether threads may sleep in the kernel for it.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn may_have_waiters(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WAITERS != 0
    }

    /// Whether a thread holds it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.owner() != 0
    }

    /// Which threads may use it.
    #[inline]
    pub fn scope(&self) -> Scope {
        if self.private == 0 { Scope::Shared } else { Scope::Private }
    }

    pub(super) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// The kernel has given the lock to the caller: returns how.
    pub(super) fn given(&self) -> Acquired {
        // Relaxed: the kernel has ordered what the last owner wrote before its call's return (P-1).
        if !word::owner_died(self.word.load(Ordering::Relaxed)) {
            return Acquired::Properly;
        }
        self.word.fetch_and(!OWNER_DIED, Ordering::Relaxed);
        Acquired::OwnerDied
    }

    #[inline]
    fn try_lock_fast(&self) -> bool {
        self.exchange(FREE, lot::tid(), Ordering::Acquire).is_ok()
    }

    #[inline]
    fn exchange(&self, old: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        self.word.compare_exchange(old, new, success, Ordering::Relaxed)
    }

    #[cold]
    fn lock_slow(&self, deadline: Option<&Deadline>) -> Result<Acquired, PiError> {
        let mut contradictions = 0;
        loop {
            match kernel::lock(&self.word, self.scope(), deadline) {
                Ok(()) => return Ok(self.given()),
                Err(Errno(libc::EINTR)) => {}
                // For a moment after an owner's death, before its heir runs, the word contradicts
                // the kernel's state without being corrupt.
                Err(Errno(libc::EINVAL)) if contradictions < CONTRADICTIONS => {
                    contradictions += 1;
                    nap();
                }
                // The owner is ending (kernels before 5.5): sleep, since a caller of a higher
                // priority that only tried again would keep it from getting there.
                Err(Errno(libc::EAGAIN)) => {
                    nap();
                    if deadline.is_some_and(Deadline::has_passed) {
                        return Err(PiError::TimedOut);
                    }
                }
                Err(errno) => {
                    let (_, call, since) = crate::sys::pi::lock_operation(deadline);
                    return Err(PiError::of(errno, call, since));
                }
            }
        }
    }

    #[cold]
    fn try_lock_slow(&self) -> Option<Acquired> {
        // On a lock that is held the call would force its release into the kernel.
        let word = self.word.load(Ordering::Relaxed);
        let given = word::is_the_kernels_to_give(word)
            && kernel::try_lock(&self.word, self.scope()).is_ok();
        given.then(|| self.given())
    }

    #[cold]
    fn unlock_slow(&self) -> Result<(), PiError> {
        // Before the release only: the word is this thread's to look at as long as it is held.
        let scope = self.scope();
        if self.owner() != lot::tid() {
            return Err(PiError::NotOwner);
        }
        loop {
            match kernel::unlock(&self.word, scope) {
                Ok(()) => return Ok(()),
                // A thread began or ceased to wait meanwhile.
                Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
                Err(Errno(libc::EPERM)) => return Err(PiError::NotOwner),
                Err(errno) => return Err(PiError::of(errno, "FUTEX_UNLOCK_PI", "Linux 2.6.18")),
            }
        }
    }
}
