//! The raw rwlock behind the guards of `lock_api` 0.5.

use super::{Marker, Options, RawRwLock, guard, lock_api, take_before};
use crate::lot;
use crate::sys::clock::Deadline;
use core::time::Duration;
use std::time::Instant;

fn until(deadline: Deadline) -> Options {
    Options::new().until(deadline)
}

/// The guard of the writer that the upgradable reader has become, or else its own again.
fn upgraded(guard: Marker, upgraded: bool) -> Result<Marker, Marker> {
    if upgraded { Ok(guard) } else { Err(guard) }
}

// SAFETY: the writer excludes all others, readers exclude the writer, and the upgradable reader its
// like (ORDERING.md, W-2); RawRwLock's models and tests show it.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to say const new()")]
    const INIT: Self = RawRwLock::new();

    type SharedGuard = Marker;
    type ExclusiveGuard = Marker;

    #[inline]
    fn lock_shared(&self) -> Marker {
        RawRwLock::lock_shared(self);
        Marker::default()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Marker> {
        guard(RawRwLock::try_lock_shared(self))
    }

    #[inline]
    unsafe fn unlock_shared(&self, _guard: Marker) {
        RawRwLock::unlock_shared(self);
    }

    #[inline]
    fn lock_exclusive(&self) -> Marker {
        RawRwLock::lock_exclusive(self);
        Marker::default()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<Marker> {
        guard(RawRwLock::try_lock_exclusive(self))
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _guard: Marker) {
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
    unsafe fn unlock_shared_fair(&self, _guard: Marker) {
        self.ask_for_hand_off();
        RawRwLock::unlock_shared(self);
    }

    unsafe fn unlock_exclusive_fair(&self, _guard: Marker) {
        self.ask_for_hand_off();
        RawRwLock::unlock_exclusive(self);
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<Marker> {
        let tried = RawRwLock::try_lock_shared(self);
        guard(take_before(|| Deadline::after(timeout), tried, |options| self.read_slow(options)))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> Option<Marker> {
        let tried = RawRwLock::try_lock_shared(self);
        guard(take_before(
            || Deadline::from_instant(timeout),
            tried,
            |options| self.read_slow(options),
        ))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<Marker> {
        let tried = self.write_fast_as(lot::tid());
        guard(take_before(|| Deadline::after(timeout), tried, |options| self.write_slow(options)))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<Marker> {
        let tried = self.write_fast_as(lot::tid());
        guard(take_before(
            || Deadline::from_instant(timeout),
            tried,
            |options| self.write_slow(options),
        ))
    }
}

// SAFETY: the writer becomes a reader without letting go.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self, guard: Marker) -> Marker {
        RawRwLock::downgrade(self);
        guard
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    type UpgradableGuard = Marker;

    #[inline]
    fn lock_upgradable(&self) -> Marker {
        RawRwLock::lock_upgradable(self);
        Marker::default()
    }

    fn try_lock_upgradable(&self) -> Option<Marker> {
        guard(RawRwLock::try_lock_upgradable(self))
    }

    #[inline]
    unsafe fn unlock_upgradable(&self, _guard: Marker) {
        RawRwLock::unlock_upgradable(self);
    }

    unsafe fn upgrade(&self, guard: Marker) -> Marker {
        RawRwLock::upgrade(self);
        guard
    }

    unsafe fn try_upgrade(&self, guard: Marker) -> Result<Marker, Marker> {
        upgraded(guard, RawRwLock::try_upgrade(self))
    }
}

// SAFETY: this releases as the plain one does.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self, _guard: Marker) {
        self.ask_for_hand_off();
        RawRwLock::unlock_upgradable(self);
    }
}

// SAFETY: as for RawRwLock.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<Marker> {
        guard(self.lock_upgradable_with(&until(Deadline::after(timeout))).is_some())
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<Marker> {
        guard(self.lock_upgradable_with(&until(Deadline::from_instant(timeout))).is_some())
    }

    unsafe fn try_upgrade_for(&self, guard: Marker, timeout: Duration) -> Result<Marker, Marker> {
        upgraded(guard, self.upgrade_with(&until(Deadline::after(timeout))).is_some())
    }

    unsafe fn try_upgrade_until(&self, guard: Marker, timeout: Instant) -> Result<Marker, Marker> {
        upgraded(guard, self.upgrade_with(&until(Deadline::from_instant(timeout))).is_some())
    }
}

// SAFETY: nothing is let go in between.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self, guard: Marker) -> Marker {
        RawRwLock::downgrade_upgradable(self);
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: Marker) -> Marker {
        RawRwLock::downgrade_to_upgradable(self);
        guard
    }
}
