//! The types known from std and parking_lot.

mod barrier;
mod condvar;
mod lazy_lock;
#[cfg(feature = "lock_api_0_5")]
pub mod lock_api_0_5;
mod mapped;
mod mutex;
mod once;
mod once_lock;
mod parker;
mod permit;
mod pi_condvar;
mod pi_mutex;
mod reentrant_mutex;
mod robust;
mod robust_mutex;
mod robust_rwlock;
mod rwlock;
mod semaphore;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};
pub use once::Once;
pub use once_lock::OnceLock;
pub use parker::{Parker, Unparker};
pub use permit::{OwnedSemaphorePermit, SemaphorePermit};
pub use pi_condvar::PiCondvar;
pub use pi_mutex::{MappedPiMutexGuard, PiMutex, PiMutexGuard};
pub use reentrant_mutex::{
    MappedReentrantMutexGuard, RawThreadId, ReentrantMutex, ReentrantMutexGuard,
};
pub use robust::RobustError;
pub use robust_mutex::{MappedRobustMutexGuard, RobustMutex, RobustMutexGuard};
pub use robust_rwlock::{
    MappedRobustRwLockReadGuard, MappedRobustRwLockWriteGuard, RobustRwLock, RobustRwLockReadGuard,
    RobustRwLockWriteGuard,
};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard, WithPolicy,
};
pub use semaphore::Semaphore;

use crate::lock::{Options, Status};
use crate::sys::clock::Deadline;

/// Whether a lock was taken by `tried` already, or is by `contend` before the deadline. The clock
/// is looked at only if the lock wasn't to be had at once.
fn take_before(
    deadline: impl FnOnce() -> Deadline,
    tried: bool,
    contend: impl FnOnce(&Options) -> Option<Status>,
) -> bool {
    tried || contend(&Options::new().until(deadline())).is_some()
}
