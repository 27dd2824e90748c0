//! Raw locks: algorithms on a word, without data, guards or poisoning.

mod attempt;
mod barrier;
mod bits;
pub(crate) mod condvar;
mod contender;
mod gate;
mod learnt;
pub(crate) mod mutex;
mod options;
mod patience;
pub mod pi;
pub mod robust;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
mod spin;

pub use attempt::{Attempt, Turn};
pub use barrier::RawBarrier;
pub use condvar::{Outcome, RawCondvar};
pub use mutex::RawMutex;
pub use options::{HAND_OFF_AFTER, How, Options, Status};
#[cfg(all(test, any(loom, shuttle)))]
pub(crate) use rwlock::slots;
pub use rwlock::{Policy, RawRwLock};
pub use semaphore::{RawSemaphore, TooManyPermits};

/// The kernel's id of the calling thread, as the word of a mutex names its owner.
#[inline(always)]
pub fn thread_id() -> u32 {
    crate::lot::tid()
}

/// Does what the first wait would do: maps the wait-queue table, and registers the calling thread
/// and the fork handler. Worth calling where system calls may be forbidden later, or locks held
/// that these need. Costs a few system calls and no memory.
pub fn prepare() {
    // Without memory the first waits are slow, as they are without this call.
    _ = crate::lot::prepare();
}
