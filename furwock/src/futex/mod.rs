//! Operations on words: what futex(2) offers for private futexes, in user space, for words of
//! several widths.
//!
//! A *word* is an atomic that threads wait on by its address. Its value means what the caller
//! decides. The protocol is the kernel's: a waiter passes the value it saw, and sleeps only if the
//! word still holds it; a thread that changes the word wakes its waiters.
//!
//! ```
//! use furwock::futex;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! let ready = AtomicU32::new(0);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         while ready.load(Ordering::Acquire) == 0 {
//!             futex::wait(&ready, 0, None);
//!         }
//!     });
//!     ready.store(1, Ordering::Release);
//!     futex::wake_all(&ready);
//! });
//! ```
//!
//! Besides threads, tasks ([`wait_async`]) and file descriptors ([`wait_fd`]) wait in the same
//! queues; and one thread can wait on many words at once ([`wait_any`]), also by one descriptor
//! ([`RegistrationFd`]).
//!
//! Words are *private*: their waiters live in one process. A word needs no initialisation and no
//! clean-up. Two words of different widths at one address share their waiters.

mod any;
mod any_fd;
mod fd;
mod future;
mod requeue;
pub(crate) mod wait;
mod wake;
mod wake_op;
mod wake_op_code;
mod word;

pub use any::{AnyWaited, Expected, Registration, wait_any};
pub use any_fd::RegistrationFd;
pub use fd::{WaitFd, WaitFdError, wait_fd};
pub use future::{WaitFuture, wait_async, wait_async_bitset};
pub use requeue::{Mismatch, Requeued, compare_requeue, requeue};
pub use wait::{Waited, wait, wait_bitset};
pub use wake::{wake, wake_address, wake_all, wake_bitset};
pub use wake_op::{Comparison, IntegerWord, Operation, WakeOp, WokenBoth, wake_op};
pub use wake_op_code::{OutOfRange, Unknown};
pub use word::Word;

#[cfg(any(not(any(loom, shuttle)), test))]
pub(crate) use requeue::requeue_at;
pub(crate) use wait::{wait_at, wait_owing};
pub(crate) use wake::wake_at;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use {requeue::compare_requeue_at, wake::is_waited_at, wake_op::wake_op_at};
