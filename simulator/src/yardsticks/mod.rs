//! Yardsticks: published locks, written afresh and small on the simulated machine's atomics, to
//! stand beside furwock's. A file each, with its source. `checks` has what each must pass. The
//! queue locks that the command measures on real machines are the command's files.

mod barriers;
mod broken;
#[cfg(test)]
mod checks;
mod clh;
mod cohort;
mod condvars;
mod futex_mutex;
mod glibc;
mod glibc_rwlock;
mod hierarchical;
mod kernel_table;
mod litl;
#[path = "../../../cli/src/contestants/locks/queued/malthusian.rs"]
mod malthusian;
#[path = "../../../cli/src/contestants/locks/queued/mcs.rs"]
mod mcs;
mod mutexee;
#[path = "../../../cli/src/contestants/locks/queued/nodes.rs"]
mod nodes;
mod other_waiting;
mod parsec_barrier;
mod platform;
mod semaphores;
mod std_rwlock;
mod test_and_set;
mod ticket;
#[path = "../../../cli/src/contestants/locks/queued/waiting.rs"]
mod waiting;
mod yielding;

pub use barriers::{GlibcBarrier, SpinningBarrier};
pub use broken::{BrokenLock, BrokenReadWriteLock};
pub use clh::Clh;
pub use cohort::CohortLock;
pub use condvars::{GlibcCondvar, RequeueingCondvar};
pub use futex_mutex::{FutexMutex, StdMutex};
pub use glibc::{GlibcAdaptiveMutex, GlibcMutex};
pub use glibc_rwlock::GlibcReadWriteLock;
pub use hierarchical::HierarchicalMcs;
pub use kernel_table::{KernelTable, TableShape};
pub use litl::{Interposed, LitlBackoff, LitlMutexee, OnOneLine};
pub use malthusian::Malthusian;
pub use mcs::Mcs;
pub use mutexee::Mutexee;
pub use other_waiting::{SpinThenParkAlwaysWoken, Spinning};
pub use parsec_barrier::ParsecBarrier;
pub use semaphores::GlibcSemaphore;
pub use std_rwlock::StdReadWriteLock;
pub use test_and_set::{Backoff, TestAndSet};
pub use ticket::Ticket;
pub use waiting::SpinThenPark;
pub use yielding::Yielding;

use machine::atomic::AtomicU32;

use crate::stage;

/// A lock of any kind, for `threads` threads.
pub trait Lock: 'static {
    fn new(threads: usize) -> Self;
    fn lock(&self);
    fn unlock(&self);
}

/// A lock that can be tried.
pub trait TryLock: Lock {
    /// Takes the lock if it is free.
    fn try_lock(&self) -> bool;
}

/// A reader-writer lock.
pub trait ReadWriteLock: 'static {
    fn new(threads: usize) -> Self;
    fn read(&self);
    fn end_read(&self);
    fn write(&self);
    fn end_write(&self);
}

/// A semaphore without a limit.
pub trait Semaphore: 'static {
    fn new(permits: u32) -> Self;
    fn acquire(&self);
    fn release(&self);
}

/// A barrier for a fixed number of threads.
pub trait Barrier: 'static {
    fn new(threads: usize) -> Self;
    fn wait(&self);
}

/// A condition variable with the mutex that it goes with.
pub trait Monitor: 'static {
    fn new(threads: usize) -> Self;
    fn lock(&self);
    fn unlock(&self);
    /// Releases the mutex, sleeps until a broadcast, and takes the mutex again. It may return
    /// without one.
    fn wait(&self);
    fn broadcast(&self);
}

/// Threads that sleep until all are woken.
pub trait Sleepers: 'static {
    fn new(threads: usize) -> Self;
    /// Sleeps until the end of round `round`.
    fn sleep(&self, index: usize, round: u32);
    /// Ends round `round`.
    fn wake_all(&self, round: u32);
}

/// What the words of a [`WaitTable`] hold, and what no wait expects.
pub const VALUE: u32 = 0;

/// A table of wait queues.
pub trait WaitTable: 'static {
    fn new(processors: usize) -> Self;
    /// Waits on `word`, which holds another value; returns the value that was found. `name` is the
    /// word's number among all.
    fn wait(&self, name: u64, word: &AtomicU32) -> u32;
}

/// Alone on its cache lines, and on the pair that a prefetcher fetches together.
#[derive(Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// The calling simulated thread's number among those of the simulation, from 0.
fn thread_index() -> usize {
    stage::thread_index()
}

/// The memory node that the calling thread runs on.
fn this_node() -> usize {
    stage::this_node()
}

/// How many memory nodes the machine has.
fn nodes_online() -> usize {
    stage::nodes()
}
