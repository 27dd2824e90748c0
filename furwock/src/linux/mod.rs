//! futex(2) and its successors, as the kernel has them, on the engine.
//!
//! Here words are addresses and operations are numbers, as in `<linux/futex.h>`; results and errnos
//! are the kernel's. Well-formed operations on private words run on the engine, where they meet the
//! typed operations of [`futex`](crate::futex) on the same words. Everything else goes to the
//! kernel: shared words, priority inheritance, and whatever is malformed, which is the kernel's to
//! refuse.
//!
//! What differs from the kernel, by design: waiters queue in order of arrival, whatever their
//! real-time priority.

mod call;
mod operation;
mod user_memory;
mod waitv;

pub use call::syscall;
pub use operation::{Face, futex};
pub use waitv::waitv;

pub use crate::sys::futex2::Waitv;
