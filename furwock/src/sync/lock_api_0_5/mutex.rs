//! The raw mutex behind the guards of `lock_api` 0.5.

use super::{Marker, RawMutex, guard, lock_api, take_before};
use crate::sys::clock::Deadline;
use core::time::Duration;
use std::time::Instant;

// SAFETY: `lock` and a `try_lock` that succeeded exclude one another until `unlock` (ORDERING.md,
// M-5); RawMutex's models and tests show it.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to say const new()")]
    const INIT: Self = RawMutex::new();

    type Guard = Marker;

    #[inline]
    fn lock(&self) -> Marker {
        RawMutex::lock(self);
        Marker::default()
    }

    #[inline]
    fn try_lock(&self) -> Option<Marker> {
        guard(RawMutex::try_lock(self))
    }

    #[inline]
    unsafe fn unlock(&self, _guard: Marker) {
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

    fn try_lock_for(&self, timeout: Duration) -> Option<Marker> {
        let tried = RawMutex::try_lock(self);
        guard(take_before(|| Deadline::after(timeout), tried, |options| self.lock_slow(options)))
    }

    fn try_lock_until(&self, timeout: Instant) -> Option<Marker> {
        let tried = RawMutex::try_lock(self);
        guard(take_before(
            || Deadline::from_instant(timeout),
            tried,
            |options| self.lock_slow(options),
        ))
    }
}

// SAFETY: this releases as the plain one does.
unsafe impl lock_api::RawMutexFair for RawMutex {
    unsafe fn unlock_fair(&self, _guard: Marker) {
        RawMutex::unlock_fair(self);
    }

    unsafe fn bump(&self, _guard: &mut Marker) {
        RawMutex::bump(self);
    }
}
