//! Stands for parking_lot in its own tests: what those name `crate` is this file, with furwock's
//! types under parking_lot's names. `scripts/yardstick.sh` puts the tests behind it.
#![allow(warnings)]

use furwock::lock::RawMutex;
pub use furwock::{
    MappedMutexGuard, Mutex, MutexGuard, Once, ReentrantMutex, ReentrantMutexGuard,
    RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, WaitTimeoutResult,
};
use std::time::Instant;

/// The condvar, with the name that parking_lot's tests have for all of its waits with conditions.
#[derive(Debug)]
pub struct Condvar(furwock::Condvar);

impl Condvar {
    pub const fn new() -> Self {
        Self(furwock::Condvar::new())
    }

    fn wait_while_until_internal<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        deadline: Option<Instant>,
    ) -> WaitTimeoutResult {
        match deadline {
            Some(deadline) => self.0.wait_while_until(guard, condition, deadline),
            None => {
                self.0.wait_while(guard, condition);
                // No time was over: what a wait that ends at once returns, too.
                self.0.wait_while_until(guard, |_| false, Instant::now())
            }
        }
    }
}

impl std::ops::Deref for Condvar {
    type Target = furwock::Condvar;

    fn deref(&self) -> &furwock::Condvar {
        &self.0
    }
}

/// A mutex whose every release hands the lock over.
pub struct RawFairMutex(RawMutex);

unsafe impl lock_api_0_4::RawMutex for RawFairMutex {
    const INIT: Self = Self(RawMutex::new());
    type GuardMarker = lock_api_0_4::GuardNoSend;

    fn lock(&self) {
        self.0.lock();
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    unsafe fn unlock(&self) {
        self.0.unlock_fair();
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

pub type FairMutex<T> = lock_api_0_4::Mutex<RawFairMutex, T>;

#[path = "../random.rs"]
mod rand;
