//! `PiCondvar`: the raw PI condvar with guards.

use super::{PiMutexGuard, WaitTimeoutResult};
use crate::lock::Outcome;
use crate::lock::pi::{PiError, RawPiCondvar};
use crate::sys::clock::Deadline;
use core::time::Duration;

/// A condition variable for [`PiMutex`](crate::PiMutex), within priority inheritance from end to
/// end.
///
/// The waiter of the highest priority goes first. A notification moves waiters to the mutex instead
/// of waking them into it, and from then on the mutex's owner runs at their priority.
///
/// Waits take the guard and return it, as std's do. After an error the mutex is not locked: the
/// guard is gone. All threads that wait at the same time must use the same mutex; a wait with
/// another one returns [`PiError::OtherMutex`]. Wakeups may be spurious: use `wait_while`, or check
/// in a loop. The errors are those of [`RawPiCondvar`].
///
/// ```
/// use furwock::{PiCondvar, PiMutex};
///
/// let (ready, changed) = (PiMutex::new(false), PiCondvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *ready.lock().unwrap() = true;
///         changed.notify_one().unwrap();
///     });
///     let guard = changed.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap();
///     assert!(*guard);
/// });
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct PiCondvar {
    raw: RawPiCondvar,
}

/// The result of a wait with a deadline.
type Timed<'a, T> = Result<(PiMutexGuard<'a, T>, WaitTimeoutResult), PiError>;

impl PiCondvar {
    /// A condition variable without waiters.
    pub const fn new() -> Self {
        Self { raw: RawPiCondvar::new() }
    }

    /// Notifies one waiter: the one of the highest priority, or among equals the one that has
    /// waited longest. Returns whether one was moved to the mutex; a waiter that wasn't asleep yet
    /// goes on uncounted.
    #[inline]
    pub fn notify_one(&self) -> Result<bool, PiError> {
        self.raw.notify_one()
    }

    /// Notifies all waiters. Returns how many were moved to the mutex.
    #[inline]
    pub fn notify_all(&self) -> Result<usize, PiError> {
        self.raw.notify_all()
    }

    /// Releases the mutex, waits for a notification, and locks the mutex again.
    pub fn wait<'a, T: ?Sized>(
        &self,
        guard: PiMutexGuard<'a, T>,
    ) -> Result<PiMutexGuard<'a, T>, PiError> {
        Ok(self.wait_deadline(guard, None)?.0)
    }

    /// Waits as long as `condition` is true of what the mutex protects.
    ///
    /// If an owner died before any of the lock calls on the way, `guard`'s own among them, the
    /// returned guard says so; the other `wait_while`s do the same.
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: PiMutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Result<PiMutexGuard<'a, T>, PiError> {
        while condition(&mut *guard) {
            let died = PiMutexGuard::owner_died(&guard);
            guard = PiMutexGuard::after_death(self.wait(guard)?, died);
        }
        Ok(guard)
    }

    /// Waits for a notification, at most until `deadline`, on either clock.
    pub fn wait_until<'a, T: ?Sized>(
        &self,
        guard: PiMutexGuard<'a, T>,
        deadline: impl Into<Deadline>,
    ) -> Timed<'a, T> {
        self.wait_deadline(guard, Some(&deadline.into()))
    }

    /// Waits for a notification, at most as long as `timeout`, on the monotonic clock.
    pub fn wait_for<'a, T: ?Sized>(
        &self,
        guard: PiMutexGuard<'a, T>,
        timeout: Duration,
    ) -> Timed<'a, T> {
        self.wait_until(guard, Deadline::after(timeout))
    }

    /// Waits as long as `condition` is true of what the mutex protects, at most until `deadline`.
    /// "Timed out" means that the condition was still true then.
    pub fn wait_while_until<'a, T: ?Sized>(
        &self,
        mut guard: PiMutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: impl Into<Deadline>,
    ) -> Timed<'a, T> {
        let deadline = deadline.into();
        let mut timed_out = false;
        while condition(&mut *guard) {
            if timed_out {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let died = PiMutexGuard::owner_died(&guard);
            let (again, result) = self.wait_until(guard, deadline)?;
            guard = PiMutexGuard::after_death(again, died);
            timed_out = result.timed_out();
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Waits as long as `condition` is true of what the mutex protects, at most as long as
    /// `timeout`. "Timed out" means that the condition was still true then.
    pub fn wait_while_for<'a, T: ?Sized>(
        &self,
        guard: PiMutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> Timed<'a, T> {
        self.wait_while_until(guard, condition, Deadline::after(timeout))
    }

    fn wait_deadline<'a, T: ?Sized>(
        &self,
        guard: PiMutexGuard<'a, T>,
        deadline: Option<&Deadline>,
    ) -> Timed<'a, T> {
        PiMutexGuard::while_released(guard, |mutex| {
            let waited = self.raw.wait(mutex, deadline)?;
            Ok((WaitTimeoutResult(waited.outcome == Outcome::TimedOut), waited.acquired))
        })
    }
}
