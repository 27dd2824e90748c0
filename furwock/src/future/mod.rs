//! Locks for tasks, on the same words as the blocking ones: a thread and a task share one lock.
//!
//! A trait adds the asynchronous calls to [`Mutex`](crate::Mutex); [`Semaphore`](crate::Semaphore)
//! and [`Condvar`](crate::Condvar) have them by themselves, and [`Notify`] is for both sides.
//!
//! ```
//! use furwock::Mutex;
//! use furwock::future::AsyncMutex;
//! use std::sync::Arc;
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
//! # runtime.block_on(async {
//! let total = Arc::new(Mutex::new(0));
//! let task = tokio::spawn({
//!     let total = Arc::clone(&total);
//!     async move {
//!         let mut total = total.lock_async().await;
//!         tokio::task::yield_now().await; // The guard may be held across an await.
//!         *total += 1;
//!     }
//! });
//! // A thread locks the same mutex, and waits while the task holds it.
//! let thread = std::thread::spawn({
//!     let total = Arc::clone(&total);
//!     move || *total.lock() += 1
//! });
//! task.await.unwrap();
//! thread.join().unwrap();
//! assert_eq!(*total.lock_async().await, 2);
//! # });
//! ```
//!
//! Tasks stand in the same queues as threads, by the same rules: a free lock goes to the caller
//! that comes first, and a waiter that has waited for 5 ms has it handed over. A task never spins,
//! and never blocks its executor's thread. No executor is needed but one that polls: tokio, smol,
//! async-std, or one of your own. Timeouts are the executor's: drop the future.
//!
//! # Cancel safety
//! Every future here may be dropped at any moment. It then leaves the queue; a lock that was handed
//! to it is released, and a wake or notification that was on its way to it goes to the next waiter.
//! A place in the queue is lost.
//!
//! A future that is neither polled nor dropped once it was woken holds up the waiters behind it, as
//! with other asynchronous locks: a future in a `select!` that goes on with another branch, for
//! example. One that is leaked (`mem::forget`) does so for ever, and for every lock of its kind
//! that is placed at that address later.
//!
//! # Fork
//! A forked child may drop its parent's futures, and lock anew. A lock that had been handed to such
//! a future, but not reported by it, stays locked in the child.

mod condvar;
mod mutex;
mod notify;
mod semaphore;

pub use condvar::CondvarFuture;
pub use mutex::{AsyncMutex, LockFuture, MutexGuardAsync};
pub use notify::{Notified, Notify};
pub use semaphore::AcquireFuture;
