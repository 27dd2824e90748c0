//! `Mutex`: the raw mutex behind lock_api's guards.

use super::take_before;
use crate::lock::RawMutex;
use crate::sys::clock::Deadline;
use core::time::Duration;
use std::time::Instant;

/// A mutual exclusion lock for data: `lock_api`'s interface over [`RawMutex`].
///
/// `lock`, `try_lock`, `try_lock_for`, `try_lock_until`, and guards that release. There is no
/// poisoning: a panic while the lock is held releases it. Locking acquires, unlocking releases.
///
/// ```
/// let total = furwock::Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *total.lock() += 1);
///     }
/// });
/// assert_eq!(total.into_inner(), 4);
/// ```
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// What `Mutex::lock` returns; dropping it unlocks.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// A guard of a part of what a mutex protects.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

// SAFETY: `lock` and a `try_lock` that succeeded exclude one another until `unlock` (ORDERING.md,
// M-5); RawMutex's models and tests show it.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to say const new()")]
    const INIT: Self = RawMutex::new();

    /// The release has to come from the thread that locked, since the word names it.
    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock(&self) {
        RawMutex::lock(self);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        RawMutex::try_lock(self)
    }

    #[inline]
    unsafe fn unlock(&self) {
        RawMutex::unlock(self);
    }

    #[inline]
    fn is_locked(&self) -> bool {
        RawMutex::is_locked(self)
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        let tried = RawMutex::try_lock(self);
        take_before(|| Deadline::after(timeout), tried, |options| self.lock_slow(options))
    }

    fn try_lock_until(&self, timeout: Instant) -> bool {
        let tried = RawMutex::try_lock(self);
        take_before(|| Deadline::from_instant(timeout), tried, |options| self.lock_slow(options))
    }
}

// SAFETY: this releases as the plain one does.
unsafe impl lock_api::RawMutexFair for RawMutex {
    unsafe fn unlock_fair(&self) {
        RawMutex::unlock_fair(self);
    }
}
