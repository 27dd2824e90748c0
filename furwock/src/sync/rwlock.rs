//! `RwLock`: the raw rwlock behind lock_api's guards.

use super::take_before;
use crate::lock::{Options, Policy, RawRwLock};
use crate::lot;
use crate::sys::clock::Deadline;
use core::time::Duration;
use std::time::Instant;

/// A reader-writer lock for data: `lock_api`'s interface over [`RawRwLock`].
///
/// Neither readers nor writers starve; in a lock that is mostly read, readers on different
/// processors enter without writing to anything they share. Guards for reading, writing and
/// upgradable reading, each with `try_`, timed, fair and mapped variants, and atomic downgrades.
/// There is no poisoning. Locking acquires, unlocking releases.
///
/// | to | call |
/// |---|---|
/// | make one, also in a `static` | [`new`] |
/// | read | [`read`], [`try_read`], [`try_read_for`], [`try_read_until`] |
/// | read again in a thread that reads | [`read_recursive`], [`try_read_recursive`], [`try_read_recursive_for`], [`try_read_recursive_until`] |
/// | write | [`write`], [`try_write`], [`try_write_for`], [`try_write_until`] |
/// | read, and perhaps write later | [`upgradable_read`], [`try_upgradable_read`], and [`RwLockUpgradableReadGuard`] |
/// | write, and read on | [`downgrade`] |
/// | ask | [`is_locked`], [`is_locked_exclusive`] |
/// | have the value without locking | [`get_mut`], [`into_inner`] |
/// | say which side goes first | [`with_policy`] |
/// | give it a name | [`named`] |
///
/// It isn't [`RefUnwindSafe`](core::panic::RefUnwindSafe), as [`Mutex`](crate::Mutex) isn't.
///
/// A thread that reads already and reads again may deadlock with itself, if a writer waits in
/// between. For such uses there is `read_recursive`, which enters past writers that wait, and, for
/// locks of which all reads are of that kind, [`Policy::Recursive`]: [`WithPolicy`] makes locks
/// with policies.
///
/// # Examples
/// ```
/// let map = furwock::RwLock::new(std::collections::HashMap::new());
/// map.write().insert("furwock", 2002);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| assert_eq!(map.read()["furwock"], 2002));
///     }
/// });
/// let upgradable = map.upgradable_read();
/// if upgradable.len() < 2 {
///     furwock::RwLockUpgradableReadGuard::upgrade(upgradable).insert("futex", 2003);
/// }
/// assert_eq!(map.read().len(), 2);
/// ```
///
/// [`new`]: lock_api::RwLock::new
/// [`read`]: lock_api::RwLock::read
/// [`try_read`]: lock_api::RwLock::try_read
/// [`try_read_for`]: lock_api::RwLock::try_read_for
/// [`try_read_until`]: lock_api::RwLock::try_read_until
/// [`read_recursive`]: lock_api::RwLock::read_recursive
/// [`try_read_recursive`]: lock_api::RwLock::try_read_recursive
/// [`try_read_recursive_for`]: lock_api::RwLock::try_read_recursive_for
/// [`try_read_recursive_until`]: lock_api::RwLock::try_read_recursive_until
/// [`write`]: lock_api::RwLock::write
/// [`try_write`]: lock_api::RwLock::try_write
/// [`try_write_for`]: lock_api::RwLock::try_write_for
/// [`try_write_until`]: lock_api::RwLock::try_write_until
/// [`upgradable_read`]: lock_api::RwLock::upgradable_read
/// [`try_upgradable_read`]: lock_api::RwLock::try_upgradable_read
/// [`downgrade`]: lock_api::RwLockWriteGuard::downgrade
/// [`is_locked`]: lock_api::RwLock::is_locked
/// [`is_locked_exclusive`]: lock_api::RwLock::is_locked_exclusive
/// [`get_mut`]: lock_api::RwLock::get_mut
/// [`into_inner`]: lock_api::RwLock::into_inner
/// [`with_policy`]: WithPolicy::with_policy
/// [`named`]: crate::inspect::WithName::named
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;

/// What `RwLock::read` returns; dropping it unlocks.
/// [`map`](lock_api::RwLockReadGuard::map) keeps it for a part of the value.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;

/// What `RwLock::write` returns; dropping it unlocks.
/// [`downgrade`](lock_api::RwLockWriteGuard::downgrade) makes it a reader's without letting go;
/// [`map`](lock_api::RwLockWriteGuard::map) keeps it for a part of the value.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// What `RwLock::upgradable_read` returns; dropping it unlocks.
///
/// There is at most one at a time, beside any number of readers.
/// [`upgrade`](lock_api::RwLockUpgradableReadGuard::upgrade) and
/// [`try_upgrade`](lock_api::RwLockUpgradableReadGuard::try_upgrade) make it the writer's, which
/// [`downgrade_to_upgradable`](lock_api::RwLockWriteGuard::downgrade_to_upgradable) reverses;
/// [`downgrade`](lock_api::RwLockUpgradableReadGuard::downgrade) makes it a plain reader's.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;

/// A reader's guard of a part of what the lock protects.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;

/// A writer's guard of a part of what the lock protects.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

/// Past writers that wait.
const RECURSIVE: Options = Options::new().recursive(true);

/// Makes a rwlock under a [`Policy`], which says whether readers or writers go first.
///
/// Functions of traits can't be `const`: a `static` is made as the second one below.
///
/// # Examples
/// ```
/// use furwock::lock::{Policy, RawRwLock};
/// use furwock::{RwLock, WithPolicy};
///
/// let settings = RwLock::with_policy(Policy::PreferWriters, vec![1, 2]);
/// assert_eq!(settings.read().len(), 2);
/// assert_eq!(settings.policy(), Policy::PreferWriters);
///
/// static TREE: RwLock<Vec<u32>> =
///     RwLock::const_new(RawRwLock::with_policy(Policy::Recursive), Vec::new());
/// assert_eq!(TREE.policy(), Policy::Recursive);
/// ```
pub trait WithPolicy<T>: Sized {
    /// A free lock under `policy`.
    fn with_policy(policy: Policy, value: T) -> Self;

    /// Which side goes first.
    fn policy(&self) -> Policy;
}

impl<T> WithPolicy<T> for RwLock<T> {
    fn with_policy(policy: Policy, value: T) -> Self {
        Self::from_raw(RawRwLock::with_policy(policy), value)
    }

    fn policy(&self) -> Policy {
        // SAFETY: this doesn't unlock it.
        unsafe { self.raw() }.policy()
    }
}

fn until(deadline: Deadline) -> Options {
    Options::new().until(deadline)
}

// SAFETY: the writer excludes all others, readers exclude the writer, and the upgradable reader its
// like (ORDERING.md, W-2); RawRwLock's models and tests show it.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to say const new()")]
    const INIT: Self = RawRwLock::new();

    /// Guards aren't `Send`: the word names the writer, and a slot the reading thread.
    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        RawRwLock::lock_shared(self);
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        RawRwLock::try_lock_shared(self)
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        RawRwLock::unlock_shared(self);
    }

    #[inline]
    fn lock_exclusive(&self) {
        RawRwLock::lock_exclusive(self);
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        RawRwLock::try_lock_exclusive(self)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        RawRwLock::unlock_exclusive(self);
    }

    fn is_locked(&self) -> bool {
        RawRwLock::is_locked(self)
    }

    fn is_locked_exclusive(&self) -> bool {
        RawRwLock::is_locked_exclusive(self)
    }
}

// SAFETY: these release as the plain ones do.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self) {
        self.ask_for_hand_off();
        RawRwLock::unlock_shared(self);
    }

    unsafe fn unlock_exclusive_fair(&self) {
        self.ask_for_hand_off();
        RawRwLock::unlock_exclusive(self);
    }

    unsafe fn bump_shared(&self) {
        if self.has_sleepers() {
            // SAFETY: the caller is a reader.
            unsafe { lock_api::RawRwLockFair::unlock_shared_fair(self) };
            RawRwLock::lock_shared(self);
        }
    }

    unsafe fn bump_exclusive(&self) {
        if self.has_sleepers() {
            // SAFETY: the caller is the writer.
            unsafe { lock_api::RawRwLockFair::unlock_exclusive_fair(self) };
            RawRwLock::lock_exclusive(self);
        }
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        let tried = RawRwLock::try_lock_shared(self);
        take_before(|| Deadline::after(timeout), tried, |options| self.read_slow(options))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        let tried = RawRwLock::try_lock_shared(self);
        take_before(|| Deadline::from_instant(timeout), tried, |options| self.read_slow(options))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        let tried = self.write_fast_as(lot::tid());
        take_before(|| Deadline::after(timeout), tried, |options| self.write_slow(options))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        let tried = self.write_fast_as(lot::tid());
        take_before(|| Deadline::from_instant(timeout), tried, |options| self.write_slow(options))
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    fn lock_shared_recursive(&self) {
        if !self.read_fast() {
            self.read_slow(&RECURSIVE);
        }
    }

    fn try_lock_shared_recursive(&self) -> bool {
        RawRwLock::try_lock_shared_recursive(self)
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        let options = || RECURSIVE.until(Deadline::after(timeout));
        self.read_fast() || self.read_slow(&options()).is_some()
    }

    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> bool {
        let options = || RECURSIVE.until(Deadline::from_instant(timeout));
        self.read_fast() || self.read_slow(&options()).is_some()
    }
}

// SAFETY: the writer becomes a reader without letting go.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        RawRwLock::downgrade(self);
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    #[inline]
    fn lock_upgradable(&self) {
        RawRwLock::lock_upgradable(self);
    }

    fn try_lock_upgradable(&self) -> bool {
        RawRwLock::try_lock_upgradable(self)
    }

    #[inline]
    unsafe fn unlock_upgradable(&self) {
        RawRwLock::unlock_upgradable(self);
    }

    unsafe fn upgrade(&self) {
        RawRwLock::upgrade(self);
    }

    unsafe fn try_upgrade(&self) -> bool {
        RawRwLock::try_upgrade(self)
    }
}

// SAFETY: this releases as the plain one does.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self) {
        self.ask_for_hand_off();
        RawRwLock::unlock_upgradable(self);
    }

    unsafe fn bump_upgradable(&self) {
        if self.has_sleepers() {
            // SAFETY: the caller is the upgradable reader.
            unsafe { lock_api::RawRwLockUpgradeFair::unlock_upgradable_fair(self) };
            RawRwLock::lock_upgradable(self);
        }
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.lock_upgradable_with(&until(Deadline::after(timeout))).is_some()
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> bool {
        self.lock_upgradable_with(&until(Deadline::from_instant(timeout))).is_some()
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        self.upgrade_with(&until(Deadline::after(timeout))).is_some()
    }

    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        self.upgrade_with(&until(Deadline::from_instant(timeout))).is_some()
    }
}

// SAFETY: nothing is let go in between.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        RawRwLock::downgrade_upgradable(self);
    }

    unsafe fn downgrade_to_upgradable(&self) {
        RawRwLock::downgrade_to_upgradable(self);
    }
}
