//! `RobustRwLock`: data behind the raw robust rwlock.

use super::mapped::mapped_guard;
use super::robust::{RobustError, assert_not_held};
use crate::lock::robust::{Held, RawRobustRwLock, ReadHeld, ReadSlot, Refused};
use crate::sys::clock::Deadline;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::{PhantomData, PhantomPinned};
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::time::Duration;

/// A reader-writer lock for data that survives the death of its readers and writers, between
/// threads or processes.
///
/// A reader that dies is forgotten, without an error. When a writer dies, the next thread to enter,
/// even as a reader, gets [`RobustError::OwnerDied`] with a *write* guard: it repairs the data and
/// calls [`RobustRwLockWriteGuard::make_consistent`]; if it drops the guard without that call, the
/// lock is lost, and all later calls return [`RobustError::NotRecoverable`]. A panic is no death:
/// it drops the guard, which unlocks. Locking acquires, unlocking releases. [`RawRobustRwLock`]
/// lists the guarantees, and the number of readers.
///
/// [`RobustMutex`](crate::RobustMutex) describes how it is pinned, how it lies in shared memory,
/// and what happens if it is dropped while held. Processes that share one agree on `READERS`.
///
/// ```
/// use furwock::RobustRwLock;
/// static TABLE: RobustRwLock<[u32; 4]> = RobustRwLock::new([0; 4]);
/// let table = std::pin::Pin::static_ref(&TABLE);
/// table.write().unwrap()[2] = 7;
/// assert_eq!(table.read().unwrap()[2], 7);
/// ```
#[derive(Default)]
#[repr(C)]
pub struct RobustRwLock<T: ?Sized, const READERS: usize = 64> {
    raw: RawRobustRwLock<READERS>,
    _pinned: PhantomPinned,
    data: UnsafeCell<T>,
}

// SAFETY: no thread is in a lock that can be moved; the data moves with it.
unsafe impl<T: ?Sized + Send, const READERS: usize> Send for RobustRwLock<T, READERS> {}
// SAFETY: one write guard at a time gives exclusive access; read guards share the data.
unsafe impl<T: ?Sized + Send + Sync, const READERS: usize> Sync for RobustRwLock<T, READERS> {}

impl<T: ?Sized, const READERS: usize> RefUnwindSafe for RobustRwLock<T, READERS> {}
impl<T: ?Sized, const READERS: usize> UnwindSafe for RobustRwLock<T, READERS> {}

type ReadResult<'a, T, const READERS: usize> = Result<
    RobustRwLockReadGuard<'a, T, READERS>,
    RobustError<RobustRwLockWriteGuard<'a, T, READERS>>,
>;
type WriteResult<'a, T, const READERS: usize> = Result<
    RobustRwLockWriteGuard<'a, T, READERS>,
    RobustError<RobustRwLockWriteGuard<'a, T, READERS>>,
>;

impl<T, const READERS: usize> RobustRwLock<T, READERS> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { raw: RawRobustRwLock::new(), _pinned: PhantomPinned, data: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized, const READERS: usize> RobustRwLock<T, READERS> {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawRobustRwLock<READERS> {
        &self.raw
    }

    /// The lock at `place`, in shared memory for example.
    ///
    /// # Safety
    /// As for [`RobustMutex::at`](crate::RobustMutex::at), the one PID namespace included.
    pub unsafe fn at<'a>(place: *mut Self) -> Pin<&'a Self> {
        // SAFETY: by the contract.
        unsafe { Pin::new_unchecked(&*place) }
    }

    /// Takes the lock for reading, waiting as long as it takes.
    ///
    /// # Errors
    /// `OwnerDied`, which makes the caller the writer that repairs, `NotRecoverable` and
    /// `Unsupported`.
    #[inline]
    pub fn read(self: Pin<&Self>) -> ReadResult<'_, T, READERS> {
        // SAFETY: it is pinned, so that it stays in place until it is dropped, and `drop` takes it
        // out of the list.
        self.reading(unsafe { self.raw.read() })
    }

    /// Takes the lock for reading if that is possible without waiting.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and `WouldBlock`.
    #[inline]
    pub fn try_read(self: Pin<&Self>) -> ReadResult<'_, T, READERS> {
        // SAFETY: as in `read`.
        self.reading(unsafe { self.raw.try_read() })
    }

    /// Takes the lock for reading, or gives up after `timeout`.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and `TimedOut`.
    pub fn try_read_for(self: Pin<&Self>, timeout: Duration) -> ReadResult<'_, T, READERS> {
        self.try_read_until(Deadline::after(timeout))
    }

    /// Takes the lock for reading, or gives up at `deadline`, on either clock.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and `TimedOut`.
    pub fn try_read_until<'a>(
        self: Pin<&'a Self>,
        deadline: impl Into<Deadline>,
    ) -> ReadResult<'a, T, READERS> {
        // SAFETY: as in `read`.
        self.reading(unsafe { self.raw.read_until(&deadline.into()) })
    }

    /// Takes the lock for writing, waiting as long as it takes.
    ///
    /// # Errors
    /// `OwnerDied`, `NotRecoverable` and `Unsupported`.
    #[inline]
    pub fn write(self: Pin<&Self>) -> WriteResult<'_, T, READERS> {
        // SAFETY: as in `read`.
        self.writing(unsafe { self.raw.write() })
    }

    /// Takes the lock for writing if that is possible without waiting.
    ///
    /// # Errors
    /// Those of [`write`](Self::write), and `WouldBlock`.
    #[inline]
    pub fn try_write(self: Pin<&Self>) -> WriteResult<'_, T, READERS> {
        // SAFETY: as in `read`.
        self.writing(unsafe { self.raw.try_write() })
    }

    /// Takes the lock for writing, or gives up after `timeout`.
    ///
    /// # Errors
    /// Those of [`write`](Self::write), and `TimedOut`.
    pub fn try_write_for(self: Pin<&Self>, timeout: Duration) -> WriteResult<'_, T, READERS> {
        self.try_write_until(Deadline::after(timeout))
    }

    /// Takes the lock for writing, or gives up at `deadline`, on either clock.
    ///
    /// # Errors
    /// Those of [`write`](Self::write), and `TimedOut`.
    pub fn try_write_until<'a>(
        self: Pin<&'a Self>,
        deadline: impl Into<Deadline>,
    ) -> WriteResult<'a, T, READERS> {
        // SAFETY: as in `read`.
        self.writing(unsafe { self.raw.write_until(&deadline.into()) })
    }

    /// Whether the lock is lost for good.
    pub fn is_not_recoverable(&self) -> bool {
        self.raw.is_not_recoverable()
    }

    #[inline]
    fn reading<'a>(
        self: Pin<&'a Self>,
        held: Result<ReadHeld, Refused>,
    ) -> ReadResult<'a, T, READERS> {
        match held {
            Ok(ReadHeld::Shared(slot)) => Ok(RobustRwLockReadGuard {
                lock: self.get_ref(),
                slot: Some(slot),
                _not_send: PhantomData,
            }),
            Ok(ReadHeld::OwnerDied) => Err(RobustError::OwnerDied(self.alone())),
            Err(refused) => Err(RobustError::from_refused(refused)),
        }
    }

    #[inline]
    fn writing<'a>(
        self: Pin<&'a Self>,
        held: Result<Held, Refused>,
    ) -> WriteResult<'a, T, READERS> {
        match held {
            Ok(Held::Acquired) => Ok(self.alone()),
            Ok(Held::OwnerDied) => Err(RobustError::OwnerDied(self.alone())),
            Err(refused) => Err(RobustError::from_refused(refused)),
        }
    }

    /// The guard of a caller that holds the lock exclusively.
    fn alone<'a>(self: Pin<&'a Self>) -> RobustRwLockWriteGuard<'a, T, READERS> {
        RobustRwLockWriteGuard { lock: self.get_ref(), _not_send: PhantomData }
    }
}

impl<T: ?Sized, const READERS: usize> Drop for RobustRwLock<T, READERS> {
    fn drop(&mut self) {
        assert_not_held(self.raw.abandon());
    }
}

impl<T: ?Sized, const READERS: usize> fmt::Debug for RobustRwLock<T, READERS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RobustRwLock")
            .field("readers", &self.raw.readers())
            .field("is_not_recoverable", &self.raw.is_not_recoverable())
            .finish_non_exhaustive()
    }
}

/// Shared access; dropping it unlocks. Not `Send`: the slot names the thread.
#[must_use = "dropped at once it unlocks at once"]
pub struct RobustRwLockReadGuard<'a, T: ?Sized, const READERS: usize = 64> {
    lock: &'a RobustRwLock<T, READERS>,
    slot: Option<ReadSlot>,
    _not_send: PhantomData<*const ()>,
}

/// Exclusive access; dropping it unlocks. Not `Send`: the word names the thread.
#[must_use = "dropped at once it unlocks at once"]
pub struct RobustRwLockWriteGuard<'a, T: ?Sized, const READERS: usize = 64> {
    lock: &'a RobustRwLock<T, READERS>,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the data, and nothing else.
unsafe impl<T: ?Sized + Sync, const R: usize> Sync for RobustRwLockReadGuard<'_, T, R> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync, const R: usize> Sync for RobustRwLockWriteGuard<'_, T, R> {}

impl<T: ?Sized, const READERS: usize> RobustRwLockWriteGuard<'_, T, READERS> {
    /// Declares the data consistent again after a writer's death. Returns whether that was
    /// necessary.
    pub fn make_consistent(guard: &mut Self) -> bool {
        guard.lock.raw.make_consistent()
    }
}

impl<T: ?Sized, const READERS: usize> Deref for RobustRwLockReadGuard<'_, T, READERS> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds a slot, so that there is no writer.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized, const READERS: usize> Deref for RobustRwLockWriteGuard<'_, T, READERS> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock exclusively.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized, const READERS: usize> DerefMut for RobustRwLockWriteGuard<'_, T, READERS> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's thread holds the lock exclusively, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized, const READERS: usize> Drop for RobustRwLockReadGuard<'_, T, READERS> {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // SAFETY: the guard's thread has the slot, or is a forked child's.
            unsafe { self.lock.raw.unlock_read(slot) };
        }
    }
}

impl<T: ?Sized, const READERS: usize> Drop for RobustRwLockWriteGuard<'_, T, READERS> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the lock, or is a forked child's.
        unsafe { self.lock.raw.unlock_write() };
    }
}

impl<T: ?Sized + fmt::Debug, const READERS: usize> fmt::Debug
    for RobustRwLockReadGuard<'_, T, READERS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug, const READERS: usize> fmt::Debug
    for RobustRwLockWriteGuard<'_, T, READERS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, const READERS: usize> fmt::Display
    for RobustRwLockReadGuard<'_, T, READERS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, const READERS: usize> fmt::Display
    for RobustRwLockWriteGuard<'_, T, READERS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A lock that is held for reading, until this is dropped.
struct ReadHold<'a, const READERS: usize> {
    lock: &'a RawRobustRwLock<READERS>,
    slot: Option<ReadSlot>,
}

impl<const READERS: usize> Drop for ReadHold<'_, READERS> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // SAFETY: the thread has the slot, or is a forked child's.
            unsafe { self.lock.unlock_read(slot) };
        }
    }
}

/// A lock that is held for writing, until this is dropped.
struct WriteHold<'a, const READERS: usize> {
    lock: &'a RawRobustRwLock<READERS>,
}

impl<const READERS: usize> Drop for WriteHold<'_, READERS> {
    fn drop(&mut self) {
        // SAFETY: the thread holds the lock, or is a forked child's.
        unsafe { self.lock.unlock_write() };
    }
}

mapped_guard! {
    /// A reader's guard of a part of what a [`RobustRwLock`] protects: what
    /// [`RobustRwLockReadGuard::map`] returns.
    ///
    /// # Examples
    /// ```
    /// use furwock::{RobustRwLock, RobustRwLockReadGuard};
    ///
    /// static LIMITS: RobustRwLock<(u32, u32)> = RobustRwLock::new((1, 10));
    ///
    /// let guard = std::pin::Pin::static_ref(&LIMITS).read().unwrap();
    /// assert_eq!(*RobustRwLockReadGuard::map(guard, |limits| &limits.1), 10);
    /// ```
    MappedRobustRwLockReadGuard<READERS = 64> from RobustRwLockReadGuard, ReadHold
}

mapped_guard! {
    /// A writer's guard of a part of what a [`RobustRwLock`] protects: what
    /// [`RobustRwLockWriteGuard::map`] returns.
    ///
    /// # Examples
    /// ```
    /// use furwock::{RobustRwLock, RobustRwLockWriteGuard};
    ///
    /// static LIMITS: RobustRwLock<(u32, u32)> = RobustRwLock::new((1, 10));
    ///
    /// let limits = std::pin::Pin::static_ref(&LIMITS);
    /// *RobustRwLockWriteGuard::map(limits.write().unwrap(), |limits| &mut limits.1) += 1;
    /// assert_eq!(*limits.read().unwrap(), (1, 11));
    /// ```
    MappedRobustRwLockWriteGuard<READERS = 64> from RobustRwLockWriteGuard, WriteHold, mut
}

impl<'a, T: ?Sized, const READERS: usize> RobustRwLockReadGuard<'a, T, READERS> {
    fn into_hold(mut self) -> ReadHold<'a, READERS> {
        let hold = ReadHold { lock: &self.lock.raw, slot: self.slot.take() };
        core::mem::forget(self);
        hold
    }
}

impl<'a, T: ?Sized, const READERS: usize> RobustRwLockWriteGuard<'a, T, READERS> {
    fn into_hold(self) -> WriteHold<'a, READERS> {
        let hold = WriteHold { lock: &self.lock.raw };
        core::mem::forget(self);
        hold
    }
}

impl<U: ?Sized, const READERS: usize> MappedRobustRwLockWriteGuard<'_, U, READERS> {
    /// As [`RobustRwLockWriteGuard::make_consistent`]: of all that the lock protects.
    pub fn make_consistent(guard: &mut Self) -> bool {
        guard.hold.lock.make_consistent()
    }
}

impl<U: ?Sized, const READERS: usize> DerefMut for MappedRobustRwLockWriteGuard<'_, U, READERS> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: a part of what the lock protects, which is held as long as the guard lives.
        unsafe { self.value.as_mut() }
    }
}
