//! What causes an endless wait.
//!
//! A bound on a wait says that something is late, not why. On a busy machine a thread may be
//! runnable and get no processor for seconds, or wait in the kernel for a lock of the kernel's. So
//! before a test fails by its bound, the watchdog looks in /proc for a second at the threads that
//! the test waits for:
//!
//! | a thread that | points to | and the wait |
//! |---|---|---|
//! | is runnable, and gets no processor; is stopped; sleeps uninterruptibly outside of futexes | the machine | goes on, up to a hard limit |
//! | sleeps in a futex, or runs without progress | furwock | is over |
//! | sleeps in any other call | the program | is over |
//!
//! If the machine holds up any of the threads, the others may be waiting for that one. The report
//! has a line for each thread, and its stacks.
//!
//! `task` reads one thread, `judge` has the rules, `examine` looks at processes, `patience` is a
//! bound that asks, `runner` watches a child process, which may ask itself.

#![allow(
    dead_code,
    unused_imports,
    reason = "the crate's tests include this file, and not each uses all of it"
)]

pub mod examine;
pub mod judge;
pub mod patience;
pub mod runner;
pub mod task;

pub use examine::{Examination, Subject, examine};
pub use judge::{Cause, Fault, cause, verdict};
pub use patience::Patience;
pub use runner::{HARD_LIMIT, Watched, watch};
pub use task::{Call, Look};
