//! Random programs of futex calls, run on the kernel and on the engine one step at a time, so that
//! there is one right outcome: all that a caller can observe must be the same.
//!
//! A program is a list of steps: a store, or a call of futex(2) or futex_waitv(2), on a few words.
//! Idle workers make the calls that may block. After each step each worker has either returned or
//! sleeps; at the end all are woken one by one, which shows in what order they queued.

mod engine;
mod generate;
mod hunt;
mod kernel;
mod pinned;
mod places;
mod raw;
mod run;
mod step;
mod worker;
mod wrong;

pub use engine::{Library, SystemCall};
pub use furwock::linux::Waitv;
pub use hunt::{Disagreement, Hunt, Tally, Wakes, compare};
pub use kernel::Kernel;
pub use pinned::pinned;
pub use run::{Outcome, Stage};
pub use step::{Program, Step};
pub use wrong::{Fault, Wrong};

/// `FUTEX2_SIZE_U32 | FUTEX2_PRIVATE`.
pub const PRIVATE_U32: u32 = 0x82;

/// A call of futex(2), by the operands' names in its man page.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "futex(2) has them")]
pub struct FutexCall {
    pub uaddr: *mut u32,
    pub op: i32,
    pub val: u32,
    pub timeout_or_val2: *const libc::timespec,
    pub uaddr2: *mut u32,
    pub val3: u32,
}

/// A call of futex_waitv(2).
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "futex_waitv(2) has them")]
pub struct WaitvCall {
    pub waiters: *const Waitv,
    pub count: u32,
    pub flags: u32,
    pub timeout: *const libc::timespec,
    pub clock: libc::clockid_t,
}

/// An implementation of futex(2) and futex_waitv(2). Errors are errnos.
pub trait Futex: Sync {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// futex(2).
    ///
    /// # Safety
    /// The operation may write only what is the caller's to write.
    unsafe fn futex(&self, call: FutexCall) -> Result<i64, i32>;

    /// futex_waitv(2).
    ///
    /// # Safety
    /// As for `futex`; it writes nothing, unless a waiter's flags ask for `FUTEX2_NUMA`.
    unsafe fn waitv(&self, call: WaitvCall) -> Result<i64, i32>;
}
