//! Which threads wait for which locks, and which threads hold those: for logs, health checks and
//! debuggers.
//!
//! ```
//! use furwock::Mutex;
//! use furwock::inspect::{self, Inspect, WithName};
//! use std::time::Duration;
//!
//! let cache = Mutex::named("cache", 0);
//! let held = cache.lock();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| *cache.lock() += 1);
//!     while cache.inspect().waiters.is_empty() {
//!         std::thread::sleep(Duration::from_millis(1));
//!     }
//!     let wait = inspect::waits().into_iter().find(|wait| wait.name.is_some()).unwrap();
//!     assert_eq!(wait.name.unwrap().as_str(), "cache");
//!     assert_eq!(wait.holders.threads(), [furwock::lock::thread_id()]);
//!     drop(held);
//! });
//! assert!(cache.inspect().statistics.unwrap().waits >= 1);
//! ```
//!
//! # What a look shows
//!
//! A look takes the lock of one wait queue at a time, never two, and no lock of the program's. Of
//! one object it therefore shows one moment: the threads that stood in its queue, and what its word
//! said meanwhile. Two objects, or two looks, are two moments. So a circle of waits that a look
//! shows is a deadlock only if a second look shows it too, with all its threads in the same waits.
//! What a look has shown may be out of date by the time that it returns.
//!
//! Threads are named by the kernel's ids, as [`thread_id`](crate::lock::thread_id) gives the
//! caller's and as debuggers show them. A thread that spins for a lock isn't in its queue yet, and
//! isn't shown.
//!
//! | object | its holders | its waiters |
//! |---|---|---|
//! | `Mutex` | the owner | all |
//! | `RwLock` | a writer or upgradable reader; readers that use slots; the rest as a number | all |
//! | `Condvar` | none, a waiter's mutex is named | all; those that were moved wait for the mutex |
//! | `Semaphore` | none | all |
//! | `Barrier` | none | the first of a round |
//! | `PiMutex`, `RobustMutex` | the owner | in the kernel, only whether there may be any |
//! | `RobustRwLock` | the writer, the readers | in the kernel, only whether there may be any |
//!
//! # What it costs
//!
//! A free lock is taken and released by the same instructions as without this module, and no object
//! is larger. A thread that goes to sleep makes two loads more. A named object counts its waits as
//! they end, which reads the clock twice for each.

pub(crate) mod layout;
mod long;
mod named;
mod objects;
mod waits;

pub use crate::lot::names::Name;
pub use long::{LongWait, NoLimit, no_long_waits, on_long_wait};
pub use named::{NameGuard, Named, WithName, name};
pub use objects::{Inspect, Statistics, Status};
pub use waits::{Chain, Holders, Kind, Wait, chain, wait_of, waits};

pub(crate) use long::watch;
