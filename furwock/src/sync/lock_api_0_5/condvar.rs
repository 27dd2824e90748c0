//! The raw condvar behind that of `lock_api` 0.5.

use super::{Marker, RawCondvar, RawMutex, lock_api};
use crate::lock::Outcome;
use crate::sys::clock::Deadline;
use core::time::Duration;
use std::time::Instant;

// SAFETY: a wait queues itself before it releases the mutex (ORDERING.md, C-1), doesn't unwind, and
// returns holding the mutex; the guard's state says nothing that the release could change.
unsafe impl lock_api::RawCondvar for RawCondvar {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to say const new()")]
    const INIT: Self = RawCondvar::new();

    type RawMutex = RawMutex;

    unsafe fn wait(&self, mutex: &RawMutex, _guard: &mut Marker) {
        RawCondvar::wait(self, mutex, None);
    }

    fn notify_one(&self) -> bool {
        RawCondvar::notify_one(self);
        false
    }

    fn notify_all(&self) -> usize {
        RawCondvar::notify_all(self);
        0
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawCondvarTimed for RawCondvar {
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    unsafe fn wait_until(&self, mutex: &RawMutex, _guard: &mut Marker, timeout: &Instant) -> bool {
        let deadline = Deadline::from_instant(*timeout);
        RawCondvar::wait(self, mutex, Some(&deadline)) == Outcome::TimedOut
    }

    unsafe fn wait_for(&self, mutex: &RawMutex, _guard: &mut Marker, timeout: &Duration) -> bool {
        RawCondvar::wait(self, mutex, Some(&Deadline::after(*timeout))) == Outcome::TimedOut
    }
}
