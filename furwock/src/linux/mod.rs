//! futex(2) and its successors, as the kernel has them, on the engine.
//!
//! Here words are addresses and operations are numbers, as in `<linux/futex.h>`; results and errnos
//! are the kernel's. Well-formed operations on private words run on the engine, where they meet the
//! typed operations of [`futex`](crate::futex) on the same words. Everything else goes to the
//! kernel: shared words, priority inheritance, and malformed calls, so that the kernel decides how
//! to refuse them.
//!
//! Differences from the kernel, by design:
//! - Waiters are ordered by real-time priority only if the process has real-time threads
//!   ([`mind_priorities`](crate::lock::mind_priorities)), otherwise by arrival.
//! - A wake of more than eight threads wakes four, which wake the others: a thread that is held up,
//!   for example in a signal handler, holds up those that it has to wake.
//! - Some waits on private words happen in the kernel (a `futex_waitv` that also names shared
//!   words, a wait inside a handler that interrupted the engine). The operations here wake them,
//!   the typed ones of [`futex`](crate::futex) don't.
//! - Plain waiters of a private word stand in the engine's queue, waiters for a priority-inheriting
//!   lock in the kernel's. Operations of one kind are refused beside waiters of the other as in the
//!   kernel. If both wait, it isn't known which came first: a wake takes the plain ones first.
//! - If a page is unmapped after its first use, a `SIGSEGV` handler notices; a thread that blocks
//!   that signal, or a program that replaces the handler, crashes where the kernel returns
//!   `EFAULT`.

mod aside;
mod inheriting;
mod new_flags;
mod operation;
pub(crate) mod refusal;
mod user_memory;
mod waitv;

pub use operation::futex;
pub use waitv::waitv;

pub use crate::sys::futex2::Waitv;
