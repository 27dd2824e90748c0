//! `Mutex`: the raw mutex, a flag for poison, and the data.

use super::poison::{Entry, Flag};
use crate::lock::RawMutex;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{LockResult, TryLockError, TryLockResult};

/// A mutual exclusion lock for data, with poisoning: [`std::sync::Mutex`]'s interface over
/// [`RawMutex`].
///
/// If a thread panics while it holds the lock, the lock is poisoned: from then on `lock` and
/// `try_lock` return the guard within an error, until [`clear_poison`](Self::clear_poison).
///
/// A thread that locks what it holds already waits for ever.
///
/// ```
/// use furwock::std_compat::{Arc, Mutex};
/// use std::thread;
///
/// let total = Arc::new(Mutex::new(0));
/// let threads: Vec<_> = (0..4)
///     .map(|_| {
///         let total = Arc::clone(&total);
///         thread::spawn(move || *total.lock().unwrap() += 1)
///     })
///     .collect();
/// for thread in threads {
///     thread.join().unwrap();
/// }
/// assert_eq!(*total.lock().unwrap(), 4);
/// ```
///
/// After a panic the data can still be had:
///
/// ```
/// use furwock::std_compat::{Arc, Mutex};
///
/// let number = Arc::new(Mutex::new(1));
/// let same = Arc::clone(&number);
/// let ended = std::thread::spawn(move || {
///     let _guard = same.lock().unwrap();
///     panic!("while it holds the lock");
/// });
/// assert!(ended.join().is_err());
///
/// let guard = number.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
/// assert_eq!(*guard, 1);
/// ```
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    poison: Flag,
    data: UnsafeCell<T>,
}

// SAFETY: the data moves with the lock; no thread is in a lock that can be moved.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: one guard at a time gives access to the data (ORDERING.md, M-5).
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

// A panic while the data is being changed leaves poison, which the next thread sees.
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// What [`Mutex::lock`] returns; dropping it unlocks.
///
/// Not `Send`: the mutex's word names the thread.
///
/// ```
/// use furwock::std_compat::{Mutex, MutexGuard};
///
/// fn push(mut list: MutexGuard<'_, Vec<u32>>) {
///     list.push(7);
/// }
///
/// let list = Mutex::new(Vec::new());
/// push(list.lock().unwrap());
/// assert_eq!(list.into_inner().unwrap(), [7]);
/// ```
#[must_use = "dropped at once it unlocks at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    mutex: &'a Mutex<T>,
    entry: Entry,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the data, and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self { raw: RawMutex::new(), poison: Flag::new(), data: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawMutex {
        &self.raw
    }

    /// `value` as std returns it: within an error if the mutex is poisoned.
    #[inline]
    pub(super) fn judge<V>(&self, value: V) -> LockResult<V> {
        self.poison.judge(value)
    }

    /// The guard of a caller that has just taken the lock.
    #[inline]
    fn taken(&self) -> LockResult<MutexGuard<'_, T>> {
        self.judge(MutexGuard { mutex: self, entry: Entry::now(), _not_send: PhantomData })
    }

    /// Takes the lock, waiting as long as it takes.
    ///
    /// # Errors
    /// The guard within [`PoisonError`](super::PoisonError) if the mutex is poisoned.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.raw.lock();
        self.taken()
    }

    /// Takes the lock if that is possible without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if it isn't, and the guard within `Poisoned` if the mutex is poisoned.
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.raw.try_lock() { Ok(self.taken()?) } else { Err(TryLockError::WouldBlock) }
    }

    /// Whether a thread has panicked while it held the lock. Out of date at once, unless the caller
    /// holds it.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poison.get()
    }

    /// Declares the data sound again: later calls of `lock` return no error.
    ///
    /// ```
    /// use furwock::std_compat::Mutex;
    /// use std::panic::catch_unwind;
    ///
    /// let number = Mutex::new(1);
    /// assert!(catch_unwind(|| number.lock().map(|_guard| panic!("half done"))).is_err());
    /// let mut guard = number.lock().unwrap_or_else(|poisoned| {
    ///     number.clear_poison();
    ///     poisoned.into_inner()
    /// });
    /// *guard = 1;
    /// drop(guard);
    /// assert_eq!(*number.lock().unwrap(), 1);
    /// ```
    #[inline]
    pub fn clear_poison(&self) {
        self.poison.clear();
    }

    /// The data, without the mutex.
    ///
    /// # Errors
    /// The data within the error if the mutex is poisoned.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        self.poison.judge(self.data.into_inner())
    }

    /// The data, without locking: the mutable borrow shows that no other thread uses the mutex.
    ///
    /// # Errors
    /// The data within the error if the mutex is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.judge(self.data.get_mut())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => shown.field("data", &&**poisoned.get_ref()),
            // (std's has quotes since Rust 1.93.)
            Err(TryLockError::WouldBlock) => shown.field("data", &"<locked>"),
        };
        shown.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The mutex of a guard.
    #[inline]
    pub(super) fn mutex(guard: &Self) -> &'a Mutex<T> {
        guard.mutex
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's thread holds the lock, and the guard is borrowed mutably.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.poison.leave(self.entry);
        self.mutex.raw.unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
