//! `PiMutex`: the raw PI mutex with data and guards.

use super::mapped::mapped_guard;
use crate::lock::pi::{Acquired, PiError, RawPiMutex, Scope};
use crate::sys::clock::Deadline;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;

/// A mutual exclusion lock for data, whose owner runs at the priority of the most urgent waiter.
///
/// The interface is std's rather than `lock_api`'s: `lock` returns a `Result`, since the kernel
/// detects cases in which other mutexes hang. A thread that locks a mutex it holds gets
/// [`PiError::Deadlock`], and so does one that closes a cycle of several threads and `PiMutex`es
/// (several do that close it at the same moment). There is no poisoning: a panic while the lock is
/// held releases it. If an owner ends without dropping its guard (`mem::forget`, a killed process),
/// [`PiMutexGuard::owner_died`] or [`PiError::OwnerGone`] reports it: see [`RawPiMutex`].
///
/// Locking acquires, unlocking releases; each is one atomic operation while no other thread wants
/// the lock.
///
/// ```
/// let total = furwock::PiMutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *total.lock().unwrap() += 1);
///     }
/// });
/// assert_eq!(total.into_inner(), 4);
/// ```
#[repr(C)]
pub struct PiMutex<T: ?Sized> {
    raw: RawPiMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the raw mutex lets one thread at a time at the value, so that sharing the mutex only
// sends the value around.
unsafe impl<T: ?Sized + Send> Sync for PiMutex<T> {}
// SAFETY: owning the mutex is owning the value.
unsafe impl<T: ?Sized + Send> Send for PiMutex<T> {}

impl<T: ?Sized> RefUnwindSafe for PiMutex<T> {}
impl<T: ?Sized> UnwindSafe for PiMutex<T> {}

/// What locking a [`PiMutex`] returns; dropping it unlocks.
///
/// It isn't `Send`: the kernel accepts an unlock only from the owning thread.
#[must_use = "dropping the guard unlocks at once"]
pub struct PiMutexGuard<'a, T: ?Sized> {
    mutex: &'a PiMutex<T>,
    acquired: Acquired,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for PiMutexGuard<'_, T> {}

impl<T> PiMutex<T> {
    /// A free mutex for the threads of this process.
    pub const fn new(value: T) -> Self {
        Self::with_scope(Scope::Private, value)
    }

    /// A free mutex. All processes that map its memory may use one of [`Scope::Shared`]; the value
    /// must then make sense in each of them.
    pub const fn with_scope(scope: Scope, value: T) -> Self {
        Self { raw: RawPiMutex::new(scope), value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> PiMutex<T> {
    /// Takes the lock, waiting as long as it takes.
    ///
    /// # Errors
    /// Those of [`RawPiMutex::lock`].
    #[inline]
    pub fn lock(&self) -> Result<PiMutexGuard<'_, T>, PiError> {
        let acquired = self.raw.lock()?;
        // SAFETY: just locked.
        Ok(unsafe { self.guard(acquired) })
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<PiMutexGuard<'_, T>> {
        let acquired = self.raw.try_lock()?;
        // SAFETY: just locked.
        Some(unsafe { self.guard(acquired) })
    }

    /// Takes the lock, or gives up after `timeout`. Uses the monotonic clock.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock); [`PiError::TimedOut`]; and, if the lock isn't free, before
    /// Linux 5.14 [`PiError::Unsupported`], because of the clock.
    pub fn try_lock_for(&self, timeout: Duration) -> Result<PiMutexGuard<'_, T>, PiError> {
        match self.try_lock() {
            Some(guard) => Ok(guard),
            None => self.try_lock_until(Deadline::after(timeout)),
        }
    }

    /// Takes the lock, or gives up at `deadline`, on either clock.
    ///
    /// # Errors
    /// Those of [`RawPiMutex::lock_until`].
    pub fn try_lock_until(
        &self,
        deadline: impl Into<Deadline>,
    ) -> Result<PiMutexGuard<'_, T>, PiError> {
        let acquired = self.raw.lock_until(&deadline.into())?;
        // SAFETY: just locked.
        Ok(unsafe { self.guard(acquired) })
    }

    /// Whether a thread holds it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// The value, by exclusive access to the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The mutex beneath.
    ///
    /// # Safety
    /// Unlocking it invalidates a guard: only a thread that has forgotten its guard may do so.
    #[inline]
    pub unsafe fn raw(&self) -> &RawPiMutex {
        &self.raw
    }

    /// # Safety
    /// The caller holds the lock, and no guard for it exists.
    #[inline]
    unsafe fn guard(&self, acquired: Acquired) -> PiMutexGuard<'_, T> {
        PiMutexGuard { mutex: self, acquired, _not_send: PhantomData }
    }
}

impl<'a, T: ?Sized> PiMutexGuard<'a, T> {
    /// Whether the previous owner ended while holding the lock: then the value may be inconsistent.
    /// Only the first owner after the death gets `true`.
    pub fn owner_died(guard: &Self) -> bool {
        guard.acquired == Acquired::OwnerDied
    }

    /// The same guard, marked if `died` is set or it was marked before.
    pub(super) fn after_death(mut guard: Self, died: bool) -> Self {
        if died {
            guard.acquired = Acquired::OwnerDied;
        }
        guard
    }

    /// The mutex it locks.
    pub fn mutex(guard: &Self) -> &'a PiMutex<T> {
        guard.mutex
    }

    /// Lets `wait` release the lock and take it again; after an error the lock isn't held.
    pub(super) fn while_released<R>(
        guard: Self,
        wait: impl FnOnce(&RawPiMutex) -> Result<(R, Acquired), PiError>,
    ) -> Result<(Self, R), PiError> {
        let mutex = guard.mutex;
        core::mem::forget(guard);
        let (result, acquired) = wait(&mutex.raw)?;
        // SAFETY: `wait` has locked again; the guard is forgotten.
        Ok((unsafe { mutex.guard(acquired) }, result))
    }
}

/// A mutex that is held, until this is dropped.
struct PiHold<'a> {
    mutex: &'a RawPiMutex,
    acquired: Acquired,
}

impl Drop for PiHold<'_> {
    fn drop(&mut self) {
        // As the guard.
        _ = self.mutex.unlock();
    }
}

mapped_guard! {
    /// A guard of a part of what a [`PiMutex`] protects: what [`PiMutexGuard::map`] returns.
    ///
    /// # Examples
    /// ```
    /// use furwock::{PiMutex, PiMutexGuard};
    ///
    /// let limits = PiMutex::new((1, 10));
    /// *PiMutexGuard::map(limits.lock()?, |limits| &mut limits.1) += 1;
    /// let list = PiMutex::new(vec![1, 2]);
    /// let third = PiMutexGuard::try_map(list.lock()?, |list| list.get_mut(2));
    /// assert_eq!(third.unwrap_err().len(), 2);
    /// assert_eq!(limits.into_inner(), (1, 11));
    /// # Ok::<(), furwock::lock::pi::PiError>(())
    /// ```
    MappedPiMutexGuard from PiMutexGuard, PiHold, mut
}

impl<'a, T: ?Sized> PiMutexGuard<'a, T> {
    fn into_hold(self) -> PiHold<'a> {
        let hold = PiHold { mutex: &self.mutex.raw, acquired: self.acquired };
        core::mem::forget(self);
        hold
    }
}

impl<U: ?Sized> MappedPiMutexGuard<'_, U> {
    /// As [`PiMutexGuard::owner_died`].
    pub fn owner_died(guard: &Self) -> bool {
        guard.hold.acquired == Acquired::OwnerDied
    }
}

impl<U: ?Sized> DerefMut for MappedPiMutexGuard<'_, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: a part of what the lock protects, which is held as long as the guard lives.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized> Drop for PiMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // The owner's unlock fails only if other code has written to the word: nothing can be done.
        _ = self.mutex.raw.unlock();
    }
}

impl<T: ?Sized> Deref for PiMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held as long as the guard lives.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for PiMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed for itself.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PiMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for PiMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PiMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_struct("PiMutex").field("data", &&*guard).finish(),
            None => f.debug_struct("PiMutex").field("data", &format_args!("<locked>")).finish(),
        }
    }
}

impl<T: Default> Default for PiMutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for PiMutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
