//! What the library records beneath `furwock run --stats`: how often each object is used, which
//! waits it costs, how long it is held. `furwock_record` has the layout of the file.
//!
//! Only the package `preload-recording` has this module; the preload itself has `unrecorded` in its
//! place, whose functions do nothing.
//!
//! - `part` maps the process's part of the file, and gives it the memory that it is about to touch.
//! - `thread` has each thread's entry, and what else it keeps for itself.
//! - `count` counts operations; `wait` times waits, and `hold` the time that locks are held.
//! - `order` notes which locks are taken while others are held.
//! - `pending` sums both up in the thread's entry, and hands them in to `tables`.
//! - `made` knows where objects were made.
//! - `stack` finds the program's frames, by `unwind`; `modules` says which files they lie in.
//! - `sandbox` says what it does in one, and `ends` sees how the program ends.
//!
//! **Cost.** An operation that needn't wait adds one to a number in the thread's own memory. One
//! that has to wait reads the clock before and after, compares its stack with the one that it had
//! there before, and adds to the thread's own sums; these are handed in once in a millisecond.
//!
//! **Safety of the program.** Nothing here waits, allocates, or takes a lock. A page of the file is
//! touched only once it is allocated: a full file system turns recording off, and raises no signal.
//! errno stays as it is, since system calls bypass libc. Where a signal handler interrupts this
//! code in its thread, the handler's own calls aren't recorded.

mod clock;
mod count;
mod ends;
mod hold;
mod kernel;
mod made;
mod modules;
mod order;
mod part;
mod pending;
mod sandbox;
mod stack;
mod tables;
mod thread;
mod unwind;
mod wait;

pub(crate) use count::{count, count_hold, left_to_glibc};
pub(crate) use ends::before_glibc;
pub(crate) use furwock_record::Kind;
pub(crate) use hold::{released, released_to_waiters};
pub(crate) use made::{destroyed, made};
pub(crate) use order::{Again, Take, ordered, orders, releases, waited_for, waits_for, wakes};
pub(crate) use part::{forked, start};
pub(crate) use sandbox::before_sandbox;
pub(crate) use wait::{Ended, Wait, jumped};

/// Whether this library records.
pub(crate) const IS_ON: bool = true;
