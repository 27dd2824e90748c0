//! `RwLock`: the raw rwlock, a flag for poison, and the data.

use super::poison::{Entry, Flag};
use crate::lock::RawRwLock;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A reader-writer lock for data, with poisoning: [`std::sync::RwLock`]'s interface over
/// [`RawRwLock`].
///
/// Only a writer that panics poisons the lock. Neither readers nor writers starve. A thread that
/// reads already and reads again may deadlock with itself, if a writer waits in between, as with
/// std's.
///
/// ```
/// use furwock::std_compat::RwLock;
///
/// let settings = RwLock::new(vec![1]);
/// {
///     let (one, two) = (settings.read().unwrap(), settings.read().unwrap());
///     assert_eq!(one[0] + two[0], 2);
/// }
/// settings.write().unwrap().push(2);
/// assert_eq!(*settings.read().unwrap(), [1, 2]);
/// ```
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    poison: Flag,
    data: UnsafeCell<T>,
}

// SAFETY: the data moves with the lock; no thread is in a lock that can be moved.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: one write guard at a time gives exclusive access; read guards share the data
// (ORDERING.md, W-2).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

// A panic while the data is being changed leaves poison, which the next thread sees.
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// What [`RwLock::read`] returns; dropping it unlocks.
///
/// Not `Send`: a slot may name the thread.
///
/// ```
/// use furwock::std_compat::{RwLock, RwLockReadGuard};
///
/// fn first(list: &RwLockReadGuard<'_, Vec<u32>>) -> u32 {
///     list[0]
/// }
///
/// assert_eq!(first(&RwLock::new(vec![7]).read().unwrap()), 7);
/// ```
#[must_use = "dropped at once it unlocks at once"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    /// No reference: another thread may write once the guard has been dropped, while the function
    /// that it was given to still returns. It also makes the guard covariant, and not `Send`.
    data: NonNull<T>,
    raw: &'a RawRwLock,
}

// SAFETY: a shared guard gives shared access to the data, and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

/// What [`RwLock::write`] returns; dropping it unlocks.
///
/// Not `Send`: the word names the thread.
#[must_use = "dropped at once it unlocks at once"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    entry: Entry,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// A free lock around `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self { raw: RawRwLock::new(), poison: Flag::new(), data: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawRwLock {
        &self.raw
    }

    /// The guard of a caller that reads.
    #[inline]
    fn shared(&self) -> RwLockReadGuard<'_, T> {
        // SAFETY: a cell's address isn't null.
        let data = unsafe { NonNull::new_unchecked(self.data.get()) };
        RwLockReadGuard { data, raw: &self.raw }
    }

    /// The guard of a caller that holds the lock exclusively.
    #[inline]
    fn exclusive(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard { lock: self, entry: Entry::now(), _not_send: PhantomData }
    }

    /// Takes the lock for reading, waiting as long as it takes.
    ///
    /// # Errors
    /// The guard within [`PoisonError`] if the lock is poisoned.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.raw.lock_shared();
        self.poison.judge(self.shared())
    }

    /// Takes the lock for reading if that is possible without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if it isn't, and the guard within `Poisoned` if the lock is poisoned.
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if self.raw.try_lock_shared() {
            Ok(self.poison.judge(self.shared())?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Takes the lock for writing, waiting as long as it takes.
    ///
    /// # Errors
    /// The guard within [`PoisonError`] if the lock is poisoned.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.raw.lock_exclusive();
        self.poison.judge(self.exclusive())
    }

    /// Takes the lock for writing if that is possible without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if it isn't, and the guard within `Poisoned` if the lock is poisoned.
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if self.raw.try_lock_exclusive() {
            Ok(self.poison.judge(self.exclusive())?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Whether a thread has panicked while it wrote. Out of date at once, unless the caller is
    /// inside.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poison.get()
    }

    /// Declares the data sound again: later calls return no error.
    #[inline]
    pub fn clear_poison(&self) {
        self.poison.clear();
    }

    /// The data, without the lock.
    ///
    /// # Errors
    /// The data within the error if the lock is poisoned.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        self.poison.judge(self.data.into_inner())
    }

    /// The data, without locking: the mutable borrow shows that no other thread uses the lock.
    ///
    /// # Errors
    /// The data within the error if the lock is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.judge(self.data.get_mut())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => shown.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => shown.field("data", &format_args!("<locked>")),
        };
        shown.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Lets other readers in, and goes on as a reader: no writer comes in between.
    ///
    /// ```
    /// use furwock::std_compat::{RwLock, RwLockWriteGuard};
    ///
    /// let number = RwLock::new(1);
    /// let mut writer = number.write().unwrap();
    /// *writer = 2;
    /// let reader = RwLockWriteGuard::downgrade(writer);
    /// assert_eq!(*reader + *number.read().unwrap(), 4);
    /// assert!(number.try_write().is_err());
    /// ```
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let lock = s.lock;
        // Its `drop` would unlock.
        mem::forget(s);
        lock.raw.downgrade();
        lock.poison.judge(lock.shared()).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread reads, so that there is no writer.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock exclusively.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's thread holds the lock exclusively, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.raw.unlock_shared();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.poison.leave(self.entry);
        self.lock.raw.unlock_exclusive();
    }
}

/// A guard is shown as the data is.
macro_rules! shown_as_data {
    ($($guard:ident)*) => {$(
        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}

shown_as_data!(RwLockReadGuard RwLockWriteGuard);
