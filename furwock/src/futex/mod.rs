//! Operations on words: what futex(2) offers for private futexes, in user space, for words of
//! several widths.
//!
//! A *word* is an atomic that threads wait on by its address. Its value means what the caller says.
//! The protocol is the kernel's: a waiter names the value it saw, and sleeps only if the word still
//! holds it; whoever changes the word wakes those who wait for the change.
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
//! Words are *private*: their waiters are threads of one process. A word needs no initialisation
//! and no clean-up. Two words of different widths at one address share their waiters.

mod requeue;
mod wait;
mod wake;
mod wake_operation;
mod word;

pub use requeue::{Mismatch, Requeued, compare_requeue, requeue};
pub use wait::{Waited, wait};
pub use wake::{wake, wake_all};
pub use wake_operation::{Comparison, Operand, Operation, OutOfRange, Unknown, WakeOperation};
pub use word::Word;
