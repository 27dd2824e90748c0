//! The types known from std and parking_lot.

mod barrier;
mod condvar;
mod mutex;
mod pi_condvar;
mod pi_mutex;
mod robust;
mod robust_mutex;
mod robust_rwlock;
mod rwlock;
mod semaphore;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};
pub use pi_condvar::PiCondvar;
pub use pi_mutex::{PiMutex, PiMutexGuard};
pub use robust::RobustError;
pub use robust_mutex::{RobustMutex, RobustMutexGuard};
pub use robust_rwlock::{RobustRwLock, RobustRwLockReadGuard, RobustRwLockWriteGuard};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
pub use semaphore::Semaphore;
