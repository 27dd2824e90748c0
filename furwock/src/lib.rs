//! furwock: a userspace futex engine and lock suite for Linux.
//!
//! - [`Mutex`], [`RwLock`], [`Condvar`], [`Semaphore`] and [`Barrier`]: the types known from std
//!   and parking_lot;
//! - [`Once`], [`OnceLock`], [`LazyLock`], [`ReentrantMutex`] and [`Parker`]: likewise;
//! - [`std_compat`]: std::sync's interface, poisoning included, over the same locks;
//! - [`future`]: the same locks for tasks of any executor, and [`Notify`];
//! - [`PiMutex`] and [`PiCondvar`]: the same with priority inheritance;
//! - [`RobustMutex`] and [`RobustRwLock`]: for threads and processes that may die holding them;
//! - [`futex`]: everything that futex(2) does, on words of every width, for threads, tasks and
//!   descriptors;
//! - [`shared`]: the same on words in memory that several processes map;
//! - [`linux`]: the same under the kernel's own names and numbers;
//! - [`lock`]: the raw algorithms, for building other locks;
//! - [`inspect`]: which threads wait for which locks, and which threads hold those.
//!
//! Everything but [`shared`], the robust and the PI locks is for the threads of one process. A
//! forked child may use everything that the forking thread could use; the parent's waiters don't
//! wait in the child. This holds for children of `fork` whose handlers have run: those of `_Fork`
//! or a bare `clone`, and handlers registered with `pthread_atfork` before furwock's first use,
//! still see the parent's thread id, and must not use furwock.
//!
//! Layers, each knowing only those below it: `std_compat`, `sync`, `lock`, `futex`, `lot` (the
//! wait-queue table), and at the bottom `sys` (Linux) and `prim` (atomics, replaceable by a model
//! checker's).

#![cfg_attr(any(loom, shuttle), allow(unused))]
#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("furwock's engine sleeps on Linux's futexes: build it for a Linux target");

pub mod futex;
#[cfg(not(any(loom, shuttle)))]
pub mod future;
#[cfg(all(test, shuttle))]
mod generated;
#[cfg(not(any(loom, shuttle)))]
pub mod inspect;
#[cfg(not(any(loom, shuttle)))]
pub mod linux;
pub mod lock;
mod lot;
#[cfg(all(test, loom))]
mod models;
mod prim;
#[cfg(all(test, shuttle))]
mod random_schedules;
#[cfg(not(any(loom, shuttle)))]
pub mod shared;
#[cfg(not(any(loom, shuttle)))]
pub mod std_compat;
#[cfg(not(any(loom, shuttle)))]
mod sync;
mod sys;
#[doc(hidden)]
pub mod unstable;

/// Where the guards of [`Mutex`] and [`RwLock`] come from, and traits of [`lock::RawMutex`] and
/// [`lock::RawRwLock`]: version 0.4, which parking_lot 0.12 uses, too.
pub use ::lock_api;
#[cfg(not(any(loom, shuttle)))]
pub use future::Notify;
pub use lock::{OnceState, TooManyPermits};
#[cfg(any(loom, shuttle))]
pub use prim::mutant;
#[cfg(all(feature = "lock_api_0_5", not(any(loom, shuttle))))]
pub use sync::lock_api_0_5;
#[cfg(not(any(loom, shuttle)))]
pub use sync::{
    Barrier, BarrierWaitResult, Condvar, LazyLock, MappedMutexGuard, MappedPiMutexGuard,
    MappedReentrantMutexGuard, MappedRobustMutexGuard, MappedRobustRwLockReadGuard,
    MappedRobustRwLockWriteGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    Once, OnceLock, OwnedSemaphorePermit, Parker, PiCondvar, PiMutex, PiMutexGuard, RawThreadId,
    ReentrantMutex, ReentrantMutexGuard, RobustError, RobustMutex, RobustMutexGuard, RobustRwLock,
    RobustRwLockReadGuard, RobustRwLockWriteGuard, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit, Unparker,
    WaitTimeoutResult, WithPolicy,
};
pub use sys::clock::{Clock, Deadline};
pub use sys::unsupported::Unsupported;
