//! The locks for programs whose trees have `lock_api` 0.5, as parking_lot 0.13 has: with the
//! feature `lock_api_0_5`, which needs Rust 1.95.
//!
//! [`RawMutex`] and [`RawRwLock`] implement the traits of both versions, so that the feature
//! changes no other type: [`furwock::Mutex`](crate::Mutex) and [`furwock::RwLock`](crate::RwLock)
//! stay those over `lock_api` 0.4. A [`Condvar`] of this module goes with a [`Mutex`] of this
//! module.
//!
//! ```
//! use furwock::lock_api_0_5::{Condvar, Mutex};
//!
//! let (ready, changed) = (Mutex::new(false), Condvar::new());
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         *ready.lock() = true;
//!         changed.notify_one();
//!     });
//!     let mut guard = ready.lock();
//!     while !*guard {
//!         changed.wait(&mut guard);
//!     }
//! });
//! ```

mod condvar;
mod mutex;
mod rwlock;

pub use ::lock_api_0_5 as lock_api;

use super::take_before;
use crate::lock::{Options, RawCondvar, RawMutex, RawRwLock};

/// As [`furwock::Mutex`](crate::Mutex).
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// What `Mutex::lock` returns; dropping it unlocks.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// A guard of a part of what a mutex protects.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

/// As [`furwock::RwLock`](crate::RwLock).
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;

/// What `RwLock::read` returns; dropping it unlocks.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;

/// What `RwLock::write` returns; dropping it unlocks.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// What `RwLock::upgradable_read` returns; dropping it unlocks.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;

/// A reader's guard of a part of what the lock protects.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;

/// A writer's guard of a part of what the lock protects.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

/// As [`furwock::Condvar`](crate::Condvar). Its waits may end for no reason: so `lock_api` has
/// `notify_one` return false, and `notify_all` zero, always.
pub type Condvar = lock_api::Condvar<RawCondvar>;

/// Makes guards not `Send`: a lock's word names its owner, and a rwlock's slot the reading thread.
type Marker = lock_api::GuardNoSend;

/// A guard for what was taken.
fn guard(taken: bool) -> Option<Marker> {
    taken.then(Marker::default)
}
