//! `Mutex`: the raw mutex behind lock_api's guards.

use super::take_before;
use crate::lock::RawMutex;
use crate::sys::clock::Deadline;
use core::time::Duration;
use std::time::Instant;

/// A mutual exclusion lock for data: `lock_api`'s interface over [`RawMutex`].
///
/// There is no poisoning: a panic while the lock is held releases it. Locking acquires, unlocking
/// releases; each is one atomic operation while no other thread wants the lock.
///
/// | to | call |
/// |---|---|
/// | make one, also in a `static` | [`new`] |
/// | lock | [`lock`], [`try_lock`], [`try_lock_for`], [`try_lock_until`] |
/// | ask | [`is_locked`] |
/// | have the value without locking | [`get_mut`], [`into_inner`] |
/// | unlock, hand over, keep a part locked | functions of [`MutexGuard`] |
/// | wait for a change | [`Condvar`] |
/// | give it a name | [`named`] |
/// | have guards that keep an `Arc` of it, or write it with serde | the features `arc_lock` and `serde` |
///
/// As parking_lot's, and unlike std's, it isn't [`RefUnwindSafe`](core::panic::RefUnwindSafe),
/// because the type is `lock_api`'s: a closure for `catch_unwind` that uses it is wrapped in
/// [`AssertUnwindSafe`](core::panic::AssertUnwindSafe).
///
/// # Examples
/// ```
/// let total = furwock::Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *total.lock() += 1);
///     }
/// });
/// assert_eq!(total.into_inner(), 4);
/// ```
///
/// [`new`]: lock_api::Mutex::new
/// [`lock`]: lock_api::Mutex::lock
/// [`try_lock`]: lock_api::Mutex::try_lock
/// [`try_lock_for`]: lock_api::Mutex::try_lock_for
/// [`try_lock_until`]: lock_api::Mutex::try_lock_until
/// [`is_locked`]: lock_api::Mutex::is_locked
/// [`get_mut`]: lock_api::Mutex::get_mut
/// [`into_inner`]: lock_api::Mutex::into_inner
/// [`Condvar`]: crate::Condvar
/// [`named`]: crate::inspect::WithName::named
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// What `Mutex::lock` returns; dropping it unlocks.
///
/// | to | call |
/// |---|---|
/// | hand the lock to the waiter that has waited longest | [`unlock_fair`], [`bump`] |
/// | unlock for a moment | [`unlocked`] |
/// | keep it for a part of the value | [`map`], [`try_map`] |
///
/// # Examples
/// ```
/// use furwock::{Mutex, MutexGuard};
///
/// let pair = Mutex::new((1, 2));
/// *MutexGuard::map(pair.lock(), |pair| &mut pair.1) += 1;
/// assert_eq!(*pair.lock(), (1, 3));
/// ```
///
/// [`unlock_fair`]: lock_api::MutexGuard::unlock_fair
/// [`bump`]: lock_api::MutexGuard::bump
/// [`unlocked`]: lock_api::MutexGuard::unlocked
/// [`map`]: lock_api::MutexGuard::map
/// [`try_map`]: lock_api::MutexGuard::try_map
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

    unsafe fn bump(&self) {
        RawMutex::bump(self);
    }
}
