//! `Condvar`: the raw condvar with guards.

use super::mutex::MutexGuard;
use crate::lock::{Outcome, RawCondvar};
use crate::sys::clock::Deadline;
use core::fmt;
use core::time::Duration;
use std::sync::{LockResult, PoisonError};

/// A condition variable for [`Mutex`](super::Mutex): [`std::sync::Condvar`]'s interface over
/// [`RawCondvar`].
///
/// A notification moves waiters to the mutex's queue instead of waking them into it. It may be used
/// with several mutexes, even at the same time, where std may panic. Wakeups may be spurious: use
/// `wait_while`, or check in a loop.
///
/// ```
/// use furwock::std_compat::{Condvar, Mutex};
///
/// let (ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *ready.lock().unwrap() = true;
///         changed.notify_one();
///     });
///     let guard = changed.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap();
///     assert!(*guard);
/// });
/// ```
#[derive(Default)]
pub struct Condvar {
    raw: RawCondvar,
}

/// Whether a timed wait on a [`Condvar`] ended because its time was over.
///
/// ```
/// use furwock::std_compat::{Condvar, Mutex};
/// use std::time::Duration;
///
/// let (free, none) = (Mutex::new(()), Condvar::new());
/// let still_waits = |_: &mut ()| true;
/// let waited = none.wait_timeout_while(free.lock().unwrap(), Duration::ZERO, still_waits);
/// assert!(waited.unwrap().1.timed_out());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it did.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// The result of a wait with a deadline.
type Timed<'a, T> = LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>;

impl Condvar {
    /// A condition variable without waiters.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { raw: RawCondvar::new() }
    }

    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawCondvar {
        &self.raw
    }

    /// Notifies one waiter: the one that has waited longest.
    #[inline]
    pub fn notify_one(&self) {
        self.raw.notify_one();
    }

    /// Notifies all waiters.
    #[inline]
    pub fn notify_all(&self) {
        self.raw.notify_all();
    }

    /// Releases the mutex, waits for a notification, and locks the mutex again.
    ///
    /// # Errors
    /// The guard within [`PoisonError`] if the mutex is poisoned by then.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let mutex = MutexGuard::mutex(&guard);
        self.raw.wait(mutex.raw(), None);
        mutex.judge(guard)
    }

    /// Waits as long as `condition` is true of what the mutex protects.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification, at most as long as `dur`.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, dur: Duration) -> Timed<'a, T> {
        self.wait_until(guard, &Deadline::after(dur))
    }

    /// Waits as long as `condition` is true of what the mutex protects, at most as long as `dur`.
    /// "Timed out" means that the condition was still true then.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> Timed<'a, T>
    where
        F: FnMut(&mut T) -> bool,
    {
        let deadline = Deadline::after(dur);
        while condition(&mut *guard) {
            if deadline.has_passed() {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            guard = self.wait_until(guard, &deadline)?.0;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Waits for a notification, at most `ms` milliseconds. Returns false if the time was over.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    #[deprecated(note = "use `wait_timeout`")]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let notified = |(guard, timed): (_, WaitTimeoutResult)| (guard, !timed.timed_out());
        match self.wait_timeout(guard, Duration::from_millis(ms.into())) {
            Ok(waited) => Ok(notified(waited)),
            Err(poisoned) => Err(PoisonError::new(notified(poisoned.into_inner()))),
        }
    }

    fn wait_until<'a, T>(&self, guard: MutexGuard<'a, T>, deadline: &Deadline) -> Timed<'a, T> {
        let mutex = MutexGuard::mutex(&guard);
        let timed_out = self.raw.wait(mutex.raw(), Some(deadline)) == Outcome::TimedOut;
        mutex.judge((guard, WaitTimeoutResult(timed_out)))
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
