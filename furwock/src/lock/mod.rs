//! Raw locks: algorithms on a word, without data, guards or poisoning.

mod balance;
mod barrier;
mod bits;
mod brief;
mod busy;
pub(crate) mod condvar;
mod contender;
pub(crate) mod future;
mod gate;
mod holder;
mod interval;
pub(crate) mod mutex;
mod naps;
pub(crate) mod notify;
pub(crate) mod once;
mod options;
mod parker;
mod patience;
mod pauses;
pub mod pi;
pub mod robust;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
mod spin;
mod surplus;
mod trials;
mod turn;
pub(crate) mod yields;

pub use barrier::RawBarrier;
pub use bits::TASK;
#[cfg(all(test, loom))]
pub(crate) use brief::with_brief_spells;
pub use condvar::task::RawCondvarFuture;
pub use condvar::{Outcome, RawCondvar};
pub use mutex::RawMutex;
pub use mutex::attempt::{Attempt, Turn};
pub use mutex::task::RawLockFuture;
pub use notify::{RawNotified, RawNotify};
pub use once::{IfPoisoned, OnceState, RawOnce};
pub use options::{HAND_OFF_AFTER, How, Options, Status};
pub use parker::RawParker;
#[cfg(any(test, not(any(loom, shuttle))))]
pub(crate) use rwlock::slots;
#[cfg(all(test, loom))]
pub(crate) use rwlock::with_long_reads;
#[cfg(all(test, not(any(loom, shuttle))))]
use rwlock::writers_bits;
pub use rwlock::{Policy, RawRwLock};
pub use semaphore::task::RawAcquireFuture;
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

/// Has waiters ordered by their threads' real-time priorities, those of equal ones (and all
/// without) by arrival, as the kernel orders a futex's.
///
/// A process whose thread has a real-time policy when it makes the wait queues
/// ([`prepare`], or the first wait of all) has it seen to by itself. Call
/// this where a thread gets one otherwise. From then on each sleep costs one or two system calls
/// more, `sched_getscheduler` and `sched_getparam`, which a sandbox has to allow. Without this call
/// none is made on the way to a lock.
#[cfg(not(any(loom, shuttle)))]
pub fn mind_priorities() {
    crate::sys::priority::there_are_ranks();
}

/// Makes no `sched_yield` from here on, asks for no processor time, and wakes threads one by one,
/// for a program whose sandbox would kill it at one of these calls.
///
/// Waiters of rwlocks yield before they sleep, so that other threads of their processor run; so do
/// those that a condvar's signal woke while its sender held the mutex, and in programs that are
/// bound to one processor those of mutexes, condvars, semaphores, barriers, parkers and
/// notifications, and threads that take a mutex past waiters that were woken. Mutexes whose holders
/// sleep or yield, and rwlocks, ask `clock_gettime` for the time that the process or the caller has
/// used, a hundred times a second at most; a thread that spins for a lock for some microseconds
/// asks for its holder's, whose clock has a negative number. Two of several threads are woken by
/// one `FUTEX_WAKE_OP`, which changes nothing. These are the only system calls of this crate's on
/// the way to a lock that neither glibc's locks make nor the program has asked for. Where a sandbox
/// refuses them with an error, this needn't be called.
#[cfg(not(any(loom, shuttle)))]
pub fn forgo_yields() {
    crate::sys::sched_yield::forgo();
}
