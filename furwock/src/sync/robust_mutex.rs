//! `RobustMutex`: data behind the raw robust mutex.

use super::mapped::mapped_guard;
use super::robust::{RobustError, assert_not_held};
use crate::lock::robust::{Held, RawRobustMutex, Refused};
use crate::sys::clock::Deadline;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::{PhantomData, PhantomPinned};
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::time::Duration;

/// A mutex for data that survives the death of its holder, between threads or processes.
///
/// When a thread or process ends while it holds the lock, in whatever way, the next one to lock
/// gets [`RobustError::OwnerDied`] with a guard. It repairs the data and calls
/// [`RobustMutexGuard::make_consistent`]; if it drops the guard without that call, the lock is
/// lost, and all later calls return [`RobustError::NotRecoverable`]. A panic is no death: it drops
/// the guard, which unlocks. Locking acquires, unlocking releases. [`RawRobustMutex`] lists the
/// guarantees.
///
/// While it is held, the kernel holds its address: so it has to be pinned, with `pin!`, `Box::pin`,
/// `Arc::pin` or `Pin::static_ref`. Between processes it lies in shared memory, and each process
/// accesses it through [`RobustMutex::at`]: the layout is C's, the raw mutex first, and zeroed
/// memory is a free mutex.
///
/// Dropping it while the same thread holds it (having forgotten the guard) unlocks it; dropping it
/// while another thread of the process holds it aborts. It may also abort if the kernel left the
/// mutex to a dead thread (see the raw mutex) whose id another thread has now.
///
/// ```
/// use furwock::{RobustError, RobustMutex, RobustMutexGuard};
/// let total = std::sync::Arc::pin(RobustMutex::new(0));
/// let other = total.clone();
/// // A thread that ends with the lock held:
/// std::thread::spawn(move || std::mem::forget(other.as_ref().lock().unwrap())).join().unwrap();
/// let mut guard = match total.as_ref().lock() {
///     Err(RobustError::OwnerDied(mut guard)) => {
///         *guard = 0;
///         RobustMutexGuard::make_consistent(&mut guard);
///         guard
///     }
///     other => other.unwrap(),
/// };
/// *guard += 1;
/// ```
#[derive(Default)]
#[repr(C)]
pub struct RobustMutex<T: ?Sized> {
    raw: RawRobustMutex,
    _pinned: PhantomPinned,
    data: UnsafeCell<T>,
}

// SAFETY: a mutex that can be moved is not held; the data moves with it.
unsafe impl<T: ?Sized + Send> Send for RobustMutex<T> {}
// SAFETY: one guard at a time gives access.
unsafe impl<T: ?Sized + Send> Sync for RobustMutex<T> {}

impl<T: ?Sized> RefUnwindSafe for RobustMutex<T> {}
impl<T: ?Sized> UnwindSafe for RobustMutex<T> {}

type Result<'a, T> =
    core::result::Result<RobustMutexGuard<'a, T>, RobustError<RobustMutexGuard<'a, T>>>;

impl<T> RobustMutex<T> {
    /// A free mutex.
    pub const fn new(value: T) -> Self {
        Self { raw: RawRobustMutex::new(), _pinned: PhantomPinned, data: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> RobustMutex<T> {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawRobustMutex {
        &self.raw
    }

    /// The mutex at `place`, in shared memory for example.
    ///
    /// # Safety
    /// - For `'a`, `place` is aligned, mapped for reading and writing, and holds a
    ///   `RobustMutex<T>`: one that [`new`](Self::new) made and that was written there before its
    ///   first use, or zeroed memory if zeroes are a valid `T`. It is accessed only through the
    ///   mutex.
    /// - It stays there, mapped, as long as this process holds it, leaked guards included.
    /// - All processes that use it are in one PID namespace: it names its holder by an id that is
    ///   one thread's there, and another's elsewhere.
    /// - Every process that uses it means the same `T` by it, in layout and in content: no pointers
    ///   or references, no file descriptors, no other locks that aren't made for several processes.
    pub unsafe fn at<'a>(place: *mut Self) -> Pin<&'a Self> {
        // SAFETY: by the contract.
        unsafe { Pin::new_unchecked(&*place) }
    }

    /// Takes the lock, waiting as long as it takes.
    ///
    /// # Errors
    /// `OwnerDied`, `NotRecoverable` and `Unsupported`.
    #[inline]
    pub fn lock(self: Pin<&Self>) -> Result<'_, T> {
        // SAFETY: it is pinned, so that it stays in place until it is dropped, and `drop` takes it
        // out of the list.
        self.guarded(unsafe { self.raw.lock() })
    }

    /// Takes the lock if that is possible without waiting.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock), and `WouldBlock`.
    #[inline]
    pub fn try_lock(self: Pin<&Self>) -> Result<'_, T> {
        // SAFETY: as in `lock`.
        self.guarded(unsafe { self.raw.try_lock() })
    }

    /// Takes the lock, or gives up after `timeout`.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock), and `TimedOut`.
    pub fn try_lock_for(self: Pin<&Self>, timeout: Duration) -> Result<'_, T> {
        self.try_lock_until(Deadline::after(timeout))
    }

    /// Takes the lock, or gives up at `deadline`, on either clock. Takes a free lock even if the
    /// deadline has passed.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock), and `TimedOut`.
    pub fn try_lock_until<'a>(self: Pin<&'a Self>, deadline: impl Into<Deadline>) -> Result<'a, T> {
        // SAFETY: as in `lock`.
        self.guarded(unsafe { self.raw.lock_until(&deadline.into()) })
    }

    /// Whether a thread holds it.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Whether the lock is lost for good.
    pub fn is_not_recoverable(&self) -> bool {
        self.raw.is_not_recoverable()
    }

    #[inline]
    fn guarded<'a>(
        self: Pin<&'a Self>,
        held: core::result::Result<Held, Refused>,
    ) -> Result<'a, T> {
        let guard = || RobustMutexGuard { mutex: self.get_ref(), _not_send: PhantomData };
        match held {
            Ok(Held::Acquired) => Ok(guard()),
            Ok(Held::OwnerDied) => Err(RobustError::OwnerDied(guard())),
            Err(refused) => Err(RobustError::from_refused(refused)),
        }
    }
}

impl<T: ?Sized> Drop for RobustMutex<T> {
    fn drop(&mut self) {
        assert_not_held(self.raw.abandon());
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RobustMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RobustMutex").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// What locking a [`RobustMutex`] returns; dropping it unlocks. Not `Send`: the word names the
/// thread.
#[must_use = "dropped at once it unlocks at once"]
pub struct RobustMutexGuard<'a, T: ?Sized> {
    mutex: &'a RobustMutex<T>,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the data, and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for RobustMutexGuard<'_, T> {}

impl<T: ?Sized> RobustMutexGuard<'_, T> {
    /// Declares the data consistent again after a holder's death. Returns whether that was
    /// necessary.
    pub fn make_consistent(guard: &mut Self) -> bool {
        guard.mutex.raw.make_consistent()
    }
}

impl<T: ?Sized> Deref for RobustMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RobustMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's thread holds the lock, and the guard is borrowed mutably.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for RobustMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the lock, or is a forked child's.
        unsafe { self.mutex.raw.unlock() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RobustMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RobustMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A mutex that is held, until this is dropped.
struct RobustHold<'a> {
    mutex: &'a RawRobustMutex,
}

impl Drop for RobustHold<'_> {
    fn drop(&mut self) {
        // SAFETY: the thread holds the lock, or is a forked child's.
        unsafe { self.mutex.unlock() };
    }
}

mapped_guard! {
    /// A guard of a part of what a [`RobustMutex`] protects: what [`RobustMutexGuard::map`]
    /// returns.
    ///
    /// # Examples
    /// ```
    /// use furwock::{RobustMutex, RobustMutexGuard};
    ///
    /// let limits = Box::pin(RobustMutex::new((1, 10)));
    /// let guard = limits.as_ref().lock().unwrap();
    /// *RobustMutexGuard::map(guard, |limits| &mut limits.1) += 1;
    /// assert_eq!(*limits.as_ref().lock().unwrap(), (1, 11));
    /// ```
    MappedRobustMutexGuard from RobustMutexGuard, RobustHold, mut
}

impl<'a, T: ?Sized> RobustMutexGuard<'a, T> {
    fn into_hold(self) -> RobustHold<'a> {
        let hold = RobustHold { mutex: &self.mutex.raw };
        core::mem::forget(self);
        hold
    }
}

impl<U: ?Sized> MappedRobustMutexGuard<'_, U> {
    /// As [`RobustMutexGuard::make_consistent`]: of all that the mutex protects.
    pub fn make_consistent(guard: &mut Self) -> bool {
        guard.hold.mutex.make_consistent()
    }
}

impl<U: ?Sized> DerefMut for MappedRobustMutexGuard<'_, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: a part of what the lock protects, which is held as long as the guard lives.
        unsafe { self.value.as_mut() }
    }
}
