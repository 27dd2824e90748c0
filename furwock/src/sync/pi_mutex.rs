//! `PiMutex`: the raw PI mutex with data and guards.

use crate::lock::pi::{Acquired, PiError, RawPiMutex, Scope};
use crate::sys::clock::Deadline;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

/// A mutual exclusion lock for data, whose owner runs at the priority of the most urgent waiter.
///
/// The interface is std's rather than `lock_api`'s: `lock` returns a `Result`, since the kernel
/// detects cases in which other mutexes hang. A thread that locks a mutex it holds gets
/// [`PiError::Deadlock`], and so does one that closes a cycle of several threads and `PiMutex`es.
/// There is no poisoning: a panic while the lock is held releases it. If an owner ends without
/// dropping its guard (`mem::forget`, a killed process), [`PiMutexGuard::owner_died`] or
/// [`PiError::OwnerGone`] reports it: see [`RawPiMutex`].
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
    /// Takes the lock, waiting as long as it takes. Fails as [`RawPiMutex::lock`] does.
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

    /// Takes the lock, or gives up after `timeout` with [`PiError::TimedOut`]. Uses the monotonic
    /// clock, which needs Linux 5.14: `Unsupported` before.
    pub fn lock_for(&self, timeout: Duration) -> Result<PiMutexGuard<'_, T>, PiError> {
        match self.try_lock() {
            Some(guard) => Ok(guard),
            None => self.lock_until(&Deadline::after(timeout)),
        }
    }

    /// Takes the lock, or gives up at `deadline` with [`PiError::TimedOut`]; on either clock, as
    /// [`RawPiMutex::lock_until`] says.
    pub fn lock_until(&self, deadline: &Deadline) -> Result<PiMutexGuard<'_, T>, PiError> {
        let acquired = self.raw.lock_until(deadline)?;
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
            Some(guard) => f.debug_struct("PiMutex").field("value", &&*guard).finish(),
            None => f.debug_struct("PiMutex").finish_non_exhaustive(),
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
