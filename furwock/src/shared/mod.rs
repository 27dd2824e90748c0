//! Operations on words in memory that several processes map.
//!
//! The queues are the kernel's, since only the kernel survives the death of any party: a waiter
//! that is killed is gone from the queue, and the others wake as if it had never been there. For
//! words of one process, [`crate::futex`] has the same operations in user space.
//!
//! ```
//! use furwock::shared;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! # fn main() -> Result<(), shared::Error> {
//! # let memory = AtomicU32::new(0);
//! // In memory that was mapped with MAP_SHARED:
//! let ready: &AtomicU32 = &memory;
//! # std::thread::scope(|scope| {
//! # scope.spawn(|| {
//! // One process:
//! ready.store(1, Ordering::Release);
//! shared::wake_all(ready)
//! # });
//! // Another:
//! while ready.load(Ordering::Acquire) == 0 {
//!     shared::wait(ready, 0, None)?;
//! }
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # What holds for all operations
//! - A word needs no initialisation and no clean-up, and may lie at different addresses in
//!   different processes.
//! - Change the word first, then wake: no wake is lost between a waiter's check of the word and its
//!   sleep. The check reads the word itself; it orders no other memory. After a wait, load the word
//!   with `Acquire`.
//! - A wakeup may be spurious (`Woken` by a wake for an earlier user of the memory, `Interrupted`
//!   by a signal): look at the word again.
//! - Waiters are woken by real-time priority, and those of equal priority or without one in order
//!   of arrival.
//! - Counts above `i32::MAX` mean `i32::MAX`.
//!
//! # Kernels
//! [`wait_any`] and [`wait64`] need Linux 5.16; [`NumaWord`]s and memory policies need Linux 6.16.
//! Everything else works on any Linux. What the kernel lacks, or a seccomp filter withholds, is
//! [`Error::Unsupported`].

mod error;
mod numa_word;
mod requeue;
mod scope;
mod wait;
mod wait_any;
mod wake;
mod wake_op;
mod wide;
#[cfg(test)]
mod wide_model;
mod word;

pub use error::Error;
pub use numa_word::NumaWord;
pub use requeue::{compare_requeue, requeue};
pub use scope::{Scope, Scoped};
pub use wait::{Waited, wait, wait_bitset};
pub use wait_any::{Awaited, MOST_WORDS, WaitedAny, wait_any};
pub use wake::{wake, wake_all, wake_bitset};
pub use wake_op::wake_op;
pub use wide::{wait64, wake64};
pub use word::{Word, Word64};

/// A count as the kernel takes it: a positive `int`.
fn clamp(count: usize) -> u32 {
    count.min(i32::MAX as usize) as u32
}
