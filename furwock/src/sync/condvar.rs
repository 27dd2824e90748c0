//! `Condvar`: the raw condvar with guards.

use super::MutexGuard;
use crate::lock::{Outcome, RawCondvar};
use crate::sys::clock::Deadline;
use core::fmt;
use core::time::Duration;

/// A condition variable for [`Mutex`](crate::Mutex): parking_lot's interface over [`RawCondvar`].
///
/// `notify_all` moves waiters to the mutex's queue instead of waking them into it; so does
/// `notify_one`, and `notify_all` if one thread waits, where threads that were woken so had to
/// sleep again for the mutex. A condvar may be used with several mutexes, even at the same time:
/// waiters with another mutex than the first waiter's are then woken, not moved. Wakeups may be
/// spurious: use `wait_while`, or check in a loop.
///
/// # Examples
/// ```
/// use furwock::{Condvar, Mutex};
///
/// let (ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *ready.lock() = true;
///         changed.notify_one();
///     });
///     changed.wait_while(&mut ready.lock(), |ready| !*ready);
/// });
/// ```
#[derive(Default)]
pub struct Condvar {
    raw: RawCondvar,
}

/// Whether a timed wait ended because its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(pub(super) bool);

impl WaitTimeoutResult {
    /// Whether it did.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawCondvar {
        &self.raw
    }

    /// A condition variable without waiters.
    #[must_use]
    pub const fn new() -> Self {
        Self { raw: RawCondvar::new() }
    }

    /// Notifies one waiter: the one that has waited longest. Returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        self.raw.notify_one()
    }

    /// Notifies all waiters. Returns how many there were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        self.raw.notify_all()
    }

    /// Releases the mutex, waits for a notification, and locks the mutex again.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_deadline(guard, None);
    }

    /// Waits as long as `condition` is true of what the mutex protects.
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut **guard) {
            self.wait(guard);
        }
    }

    /// Waits for a notification, at most until `deadline`, on either
    /// clock: an `Instant`, a `SystemTime` or a [`Deadline`].
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: impl Into<Deadline>,
    ) -> WaitTimeoutResult {
        self.wait_deadline(guard, Some(&deadline.into()))
    }

    /// Waits for a notification, at most as long as `timeout`, on the monotonic clock.
    ///
    /// # Examples
    /// ```
    /// use furwock::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (stop, asked) = (Mutex::new(false), Condvar::new());
    /// let mut guard = stop.lock();
    /// while !*guard {
    ///     if asked.wait_for(&mut guard, Duration::from_millis(1)).timed_out() {
    ///         break;
    ///     }
    /// }
    /// ```
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_deadline(guard, Some(&Deadline::after(timeout)))
    }

    /// Waits as long as `condition` is true of what the mutex protects, at most until `deadline`.
    /// "Timed out" means that the condition was still true then.
    pub fn wait_while_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        deadline: impl Into<Deadline>,
    ) -> WaitTimeoutResult {
        self.wait_while_deadline(guard, condition, &deadline.into())
    }

    /// Waits as long as `condition` is true of what the mutex protects, at most as long as
    /// `timeout`. "Timed out" means that the condition was still true then.
    ///
    /// # Examples
    /// ```
    /// use furwock::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (jobs, added) = (Mutex::new(Vec::<u32>::new()), Condvar::new());
    /// let mut guard = jobs.lock();
    /// let result =
    ///     added.wait_while_for(&mut guard, |jobs| jobs.is_empty(), Duration::from_millis(1));
    /// assert!(result.timed_out() && guard.is_empty());
    /// ```
    pub fn wait_while_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_while_deadline(guard, condition, &Deadline::after(timeout))
    }

    fn wait_while_deadline<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: &Deadline,
    ) -> WaitTimeoutResult {
        let mut timed_out = false;
        while condition(&mut **guard) {
            if timed_out {
                return WaitTimeoutResult(true);
            }
            timed_out = self.wait_deadline(guard, Some(deadline)).timed_out();
        }
        WaitTimeoutResult(false)
    }

    fn wait_deadline<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Option<&Deadline>,
    ) -> WaitTimeoutResult {
        // SAFETY: the guard shows that this thread holds the mutex, and `wait` returns holding it.
        let mutex = unsafe { MutexGuard::mutex(guard).raw() };
        WaitTimeoutResult(self.raw.wait(mutex, deadline) == Outcome::TimedOut)
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
