//! Priority inheritance: a mutex and a condition variable through which waiters lend their
//! priority to the thread that they wait for.
//!
//! Without it a thread of middling priority keeps one of low priority off the processor, and with
//! it the thread of high priority that waits for a lock which the low one holds: for as long as it
//! likes. Only the scheduler can lend a priority, so that everything here waits in the kernel, on
//! words in the kernel's format. The owner's fast paths stay in user space.
//!
//! What a waiter may meet here, as nowhere else, is an error: the kernel sees deadlocks and dead
//! owners, and older kernels lack some operations. Nothing panics; see [`PiError`].
//!
//! The ordering arguments are in ORDERING.md (P-1 ff.).

mod condvar;
mod error;
mod mutex;
#[cfg(not(any(loom, shuttle)))]
mod requeue;
pub(crate) mod word;

pub use crate::sys::pi::Scope;
pub use crate::sys::unsupported::Unsupported;
pub use condvar::{PiWaited, RawPiCondvar};
pub use error::PiError;
pub use mutex::{Acquired, RawPiMutex};
#[cfg(not(any(loom, shuttle)))]
pub use requeue::{compare_requeue, wait_requeue};
