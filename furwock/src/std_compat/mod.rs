//! [`std::sync`]'s interface, poisoning included, over furwock's locks.
//!
//! A program that says `use std::sync::...` compiles with `use furwock::std_compat::...` instead,
//! and a crate-wide `use furwock::std_compat as sync;` serves what says `sync::Mutex`:
//!
//! ```
//! use furwock::std_compat::{Arc, Condvar, Mutex, mpsc};
//! use std::thread;
//!
//! let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
//! let (done, ended) = mpsc::channel();
//! let consumer = Arc::clone(&queue);
//! thread::spawn(move || {
//!     let (list, filled) = &*consumer;
//!     let mut list = filled.wait_while(list.lock().unwrap(), |list| list.is_empty()).unwrap();
//!     done.send(list.pop()).unwrap();
//! });
//! queue.0.lock().unwrap().push(7);
//! queue.1.notify_one();
//! assert_eq!(ended.recv().unwrap(), Some(7));
//! ```
//!
//! # What is furwock's and what is std's
//!
//! | here | is |
//! |---|---|
//! | [`Mutex`], [`RwLock`], [`Condvar`], [`Barrier`], [`Once`], and their guards and results | furwock's |
//! | [`OnceLock`], [`LazyLock`] | furwock's, the same as [`furwock::OnceLock`](crate::OnceLock) and [`furwock::LazyLock`](crate::LazyLock) |
//! | [`PoisonError`], [`TryLockError`], [`LockResult`], [`TryLockResult`] | std's, so that `?` and conversions of errors work as before |
//! | [`Arc`], [`Weak`], [`atomic`], [`mpsc`] | std's, which need no lock of ours |
//!
//! Poisoning is std's: a guard poisons its lock if the thread is panicking when it is dropped and
//! wasn't when it took the lock, and readers poison nothing.
//!
//! # What differs
//!
//! - **Types.** A function of another crate that takes or returns `std::sync::Mutex` itself, a
//!   guard or a `Condvar` still means std's. A guard of ours goes with a `Condvar` of ours only.
//! - **Fairness.** A waiter that has waited for 5 ms has the mutex handed over; a rwlock's readers
//!   and writers both get their turn. std's waiters may starve.
//! - **Waiting.** One waiter of a lock spins for some microseconds and learns whether that pays;
//!   the others sleep in furwock's queues. A notification of a condvar moves waiters to the mutex
//!   instead of waking them to wait again.
//! - **Several mutexes for one condvar** are allowed at the same time. std may panic.
//! - **Locking twice.** A thread that locks what it holds waits for ever, and a reader that finds
//!   262,144 others in a lock waits for one to leave, where std may panic.
//! - **Sizes.** A rwlock without data takes 16 bytes, std's 12; a barrier 8 instead of std's 40;
//!   the others are as large as std's.
//! - **Initialising what is being initialised** by the same thread panics. std deadlocks or panics.
//! - **What std has as unstable** (`nonpoison`, mapped guards, `mpmc`, `ReentrantLock`) isn't here.
//!   [`furwock::Mutex`](crate::Mutex) and its like have no poison and have mapped guards.
//!
//! [`inspect`](crate::inspect) shows and names these locks as it does the crate's others. The
//! yardstick (`scripts/yardstick.sh`) runs std's own tests against this module.

mod barrier;
mod condvar;
mod mutex;
mod once;
mod poison;
mod rwlock;

pub use crate::sync::{LazyLock, OnceLock};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
#[allow(deprecated)]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{
    Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic, mpsc,
};
