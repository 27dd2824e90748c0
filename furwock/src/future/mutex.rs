//! The mutex for tasks: a trait, a future and a guard.

use crate::Mutex;
use crate::lock::{RawLockFuture, RawMutex};
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::task::{Context, Poll, ready};

mod sealed {
    pub trait Sealed {}
    impl<T: ?Sized> Sealed for crate::Mutex<T> {}
}

/// [`Mutex`] for tasks.
///
/// ```
/// use furwock::Mutex;
/// use furwock::future::AsyncMutex;
///
/// async fn add(total: &Mutex<u64>) {
///     *total.lock_async().await += 1;
/// }
/// ```
pub trait AsyncMutex<T: ?Sized>: sealed::Sealed {
    /// Locks the mutex, waiting in the same queue as threads. Acquire.
    ///
    /// The mutex's word then names no thread, but [`TASK`](crate::lock::TASK). A task that locks
    /// what it holds already waits for ever.
    ///
    /// # Cancel safety
    /// A future that is dropped leaves the queue. If the lock was handed to it, it releases the
    /// lock; if it was woken, the next waiter is woken in its place.
    fn lock_async(&self) -> LockFuture<'_, T>;

    /// Locks the mutex if that is possible without waiting, with a guard that may go to another
    /// thread. Acquire on success. Threads may call it, too.
    ///
    /// ```
    /// use furwock::Mutex;
    /// use furwock::future::AsyncMutex;
    ///
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock_async().unwrap();
    /// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join()).unwrap();
    /// assert!(mutex.try_lock().is_some());
    /// ```
    fn try_lock_async(&self) -> Option<MutexGuardAsync<'_, T>>;
}

impl<T: ?Sized> AsyncMutex<T> for Mutex<T> {
    fn lock_async(&self) -> LockFuture<'_, T> {
        LockFuture { mutex: self, raw: raw(self).lock_task() }
    }

    fn try_lock_async(&self) -> Option<MutexGuardAsync<'_, T>> {
        raw(self).try_lock_task().then(|| guard(self))
    }
}

/// Of a task that has just locked it.
#[inline]
pub(super) fn guard<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuardAsync<'_, T> {
    MutexGuardAsync { mutex, data: PhantomData }
}

#[inline]
pub(super) fn raw<T: ?Sized>(mutex: &Mutex<T>) -> &RawMutex {
    // SAFETY: here it is released only by guards, each of which stands for a lock of its own.
    unsafe { mutex.raw() }
}

/// What [`AsyncMutex::lock_async`] returns: resolves to the guard.
#[must_use = "futures do nothing unless polled"]
pub struct LockFuture<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    raw: RawLockFuture<'a>,
}

impl<'a, T: ?Sized> Future for LockFuture<'a, T> {
    type Output = MutexGuardAsync<'a, T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(Pin::new(&mut self.raw).poll(context));
        Poll::Ready(guard(self.mutex))
    }
}

impl<T: ?Sized> fmt::Debug for LockFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockFuture").finish_non_exhaustive()
    }
}

/// A mutex that a task holds; dropping it unlocks, on any thread.
///
/// It may be held across an `.await`, and sent to another thread if the data may.
///
/// ```
/// fn is_send<T: Send>() {}
/// is_send::<furwock::future::MutexGuardAsync<'_, Vec<u8>>>();
/// ```
///
/// ```compile_fail
/// fn is_sync<T: Sync>() {}
/// is_sync::<furwock::future::MutexGuardAsync<'_, std::cell::Cell<u8>>>();
/// ```
#[must_use = "if unused the mutex is unlocked at once"]
pub struct MutexGuardAsync<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// It is shared between threads as the data is, and not as the mutex is.
    data: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuardAsync<'a, T> {
    /// The mutex that it holds.
    pub fn mutex(guard: &Self) -> &'a Mutex<T> {
        guard.mutex
    }

    /// Unlocks by giving the mutex to the waiter that has waited longest, if there is one, and not
    /// to the caller that comes first.
    pub fn unlock_fair(guard: Self) {
        raw(guard.mutex).unlock_fair();
        core::mem::forget(guard);
    }
}

impl<T: ?Sized> Drop for MutexGuardAsync<'_, T> {
    #[inline]
    fn drop(&mut self) {
        raw(self.mutex).unlock_task();
    }
}

impl<T: ?Sized> Deref for MutexGuardAsync<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.mutex.data_ptr() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuardAsync<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.mutex.data_ptr() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuardAsync<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuardAsync<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
