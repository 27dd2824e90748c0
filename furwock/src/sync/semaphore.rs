//! `Semaphore`: the raw semaphore with durations and permits that are given back when dropped.

use super::{OwnedSemaphorePermit, SemaphorePermit};
use crate::lock::{RawSemaphore, TooManyPermits};
use crate::sys::clock::Deadline;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

/// A counting semaphore: any thread may take permits, and any thread may give them back.
///
/// There are two ways to use it. Where permits signal something, one thread calls
/// [`acquire`](Self::acquire) and another one [`release`](Self::release). Where they limit how many
/// threads do something, [`acquire_permit`](Self::acquire_permit) returns a permit that is given
/// back when it is dropped. Taking acquires, giving back releases. Threads that wait aren't served
/// in order: a woken one competes with newcomers.
///
/// # Examples
/// ```
/// use furwock::Semaphore;
///
/// static CONNECTIONS: Semaphore = Semaphore::new(2);
///
/// let first = CONNECTIONS.acquire_permit();
/// let second = CONNECTIONS.acquire_permit();
/// assert!(CONNECTIONS.try_acquire_permit().is_none());
/// drop(first);
/// assert_eq!(CONNECTIONS.available(), 1);
/// # drop(second);
///
/// let ready = Semaphore::new(0);
/// std::thread::scope(|scope| {
///     scope.spawn(|| ready.release());
///     ready.acquire();
/// });
/// assert_eq!(ready.available(), 0);
/// ```
pub struct Semaphore {
    raw: RawSemaphore,
}

impl Semaphore {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawSemaphore {
        &self.raw
    }

    /// The most permits that one has.
    pub const MAX_PERMITS: u32 = RawSemaphore::MOST;

    /// A semaphore with `permits`.
    ///
    /// # Panics
    /// If they are more than [`MAX_PERMITS`](Self::MAX_PERMITS): in a `static` or `const` a compile
    /// error.
    ///
    /// # Examples
    /// ```compile_fail
    /// static TOO_MANY: furwock::Semaphore = furwock::Semaphore::new(u32::MAX);
    /// ```
    #[must_use]
    pub const fn new(permits: u32) -> Self {
        match Self::try_new(permits) {
            Ok(semaphore) => semaphore,
            Err(_) => panic!("a semaphore has no more than Semaphore::MAX_PERMITS permits"),
        }
    }

    /// A semaphore with `permits`.
    ///
    /// # Errors
    /// If they are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub const fn try_new(permits: u32) -> Result<Self, TooManyPermits> {
        match RawSemaphore::new(permits) {
            Ok(raw) => Ok(Self { raw }),
            Err(too_many) => Err(too_many),
        }
    }

    /// Takes a permit, waiting until there is one. Acquire.
    #[inline]
    pub fn acquire(&self) {
        self.raw.acquire();
    }

    /// Takes a permit if there is one. Acquire, if it did.
    #[inline]
    #[must_use = "without a look at it, it isn't known whether a permit was taken"]
    pub fn try_acquire(&self) -> bool {
        self.raw.try_acquire()
    }

    /// Takes a permit, or gives up after `timeout`. Acquire, if it returns true.
    #[must_use = "without a look at it, it isn't known whether a permit was taken"]
    pub fn try_acquire_for(&self, timeout: Duration) -> bool {
        self.try_acquire() || self.raw.acquire_until(&Deadline::after(timeout))
    }

    /// Takes a permit, or gives up at `deadline`: an `Instant`, a `SystemTime` or a [`Deadline`].
    /// Acquire, if it returns true.
    #[must_use = "without a look at it, it isn't known whether a permit was taken"]
    pub fn try_acquire_until(&self, deadline: impl Into<Deadline>) -> bool {
        self.try_acquire() || self.raw.acquire_until(&deadline.into())
    }

    /// Gives back a permit, or makes one, and wakes a thread that waits for it. Release. May be
    /// called from a signal handler.
    ///
    /// # Errors
    /// If there are [`MAX_PERMITS`](Self::MAX_PERMITS) already: nothing has changed then.
    #[inline]
    pub fn release(&self) -> Result<(), TooManyPermits> {
        self.raw.release()
    }

    /// Gives back that many permits, and wakes as many threads. Release.
    ///
    /// # Errors
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS): nothing has changed then.
    #[inline]
    pub fn release_many(&self, permits: u32) -> Result<(), TooManyPermits> {
        self.raw.release_many(permits)
    }

    /// How many permits there are at this moment.
    #[inline]
    #[must_use]
    pub fn available(&self) -> u32 {
        self.raw.available()
    }
}

/// Permits that are given back when they are dropped.
impl Semaphore {
    /// Takes a permit, waiting until there is one. Acquire.
    ///
    /// # Examples
    /// ```
    /// let slots = furwock::Semaphore::new(3);
    /// let mut both = slots.acquire_permit();
    /// both.merge(slots.acquire_permit());
    /// assert_eq!((both.count(), slots.available()), (2, 1));
    /// drop(both);
    /// slots.acquire_permit().forget();
    /// assert_eq!(slots.available(), 2);
    /// ```
    #[inline]
    pub fn acquire_permit(&self) -> SemaphorePermit<'_> {
        self.acquire();
        SemaphorePermit::of(self)
    }

    /// Takes a permit if there is one. Acquire, if it did.
    #[inline]
    pub fn try_acquire_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.try_acquire().then(|| SemaphorePermit::of(self))
    }

    /// Takes a permit, or gives up after `timeout`. Acquire, if it did.
    pub fn try_acquire_permit_for(&self, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        self.try_acquire_for(timeout).then(|| SemaphorePermit::of(self))
    }

    /// Takes a permit, or gives up at `deadline`: an `Instant`, a `SystemTime` or a [`Deadline`].
    /// Acquire, if it did.
    pub fn try_acquire_permit_until(
        &self,
        deadline: impl Into<Deadline>,
    ) -> Option<SemaphorePermit<'_>> {
        self.try_acquire_until(deadline).then(|| SemaphorePermit::of(self))
    }

    /// Takes a permit, waiting until there is one, that keeps the semaphore alive: for threads that
    /// outlive the caller. Acquire.
    ///
    /// # Examples
    /// ```
    /// use furwock::Semaphore;
    /// use std::sync::Arc;
    ///
    /// let workers = Arc::new(Semaphore::new(2));
    /// let permit = Arc::clone(&workers).acquire_owned();
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(workers.available(), 2);
    /// ```
    #[inline]
    pub fn acquire_owned(self: Arc<Self>) -> OwnedSemaphorePermit {
        self.acquire();
        OwnedSemaphorePermit::of(self)
    }

    /// Takes a permit that keeps the semaphore alive, if there is one. Acquire, if it did.
    #[inline]
    pub fn try_acquire_owned(self: Arc<Self>) -> Option<OwnedSemaphorePermit> {
        self.try_acquire().then(|| OwnedSemaphorePermit::of(self))
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("available", &self.available()).finish()
    }
}
