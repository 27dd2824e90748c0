//! futex(2) and its successors, as the kernel has them, on the engine.
//!
//! Here words are addresses and operations are numbers, as in `<linux/futex.h>`; results and errnos
//! are the kernel's. Well-formed operations on private words run on the engine, where they meet the
//! typed operations of [`futex`](crate::futex) on the same words. Everything else goes to the
//! kernel: shared words, priority inheritance, and whatever is malformed, which is the kernel's to
//! refuse.
//!
//! What differs from the kernel, by design:
//! - Waiters queue in order of arrival; by real-time priority before that, where the process has any
//!   ([`mind_priorities`](crate::unstable::mind_priorities)).
//! - A wake of more than eight lets four go, which let the others go: one that is held up, in a signal
//!   handler for example, holds up those that it has to wake.
//! - A private word that is waited on in the kernel all the same (a `futex_waitv` that names shared
//!   words too, a wait inside a handler that interrupted the engine) is woken by the operations here,
//!   not by the typed ones of [`futex`](crate::futex).
//! - Plain waiters of a private word stand in the engine's queue, waiters for a priority-inheriting lock in
//!   the kernel's. Operations of one kind are refused beside waiters of the other as in the kernel, but which
//!   came first isn't known if both wait: a wake takes the plain ones first.
//! - A page that is unmapped after its first use is noticed by a `SIGSEGV` handler; a thread that blocks
//!   that signal, or a program that replaces the handler, crashes where the kernel says `EFAULT`.

mod call;
mod inheriting;
mod new_flags;
mod operation;
mod user_memory;
mod waitv;

pub use call::syscall;
pub use operation::futex;
pub use waitv::waitv;

pub use crate::sys::futex2::Waitv;
