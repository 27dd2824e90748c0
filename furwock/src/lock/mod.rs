//! Raw locks: algorithms on a word, without data, guards or poisoning.

mod ahead;
mod attempt;
mod barrier;
mod condvar;
mod contender;
mod mutex;
mod mutex_state;
mod options;
pub mod pi;
pub mod robust;
mod rwlock;
mod semaphore;
mod spin;

pub use attempt::{Attempt, Turn};
pub use barrier::RawBarrier;
pub use condvar::{CondvarWait, Outcome, RawCondvar};
pub use mutex::RawMutex;
pub use options::{HAND_OFF_AFTER, How, Options, Status};
pub use rwlock::{Policy, RawRwLock};
pub use semaphore::{Acquired, RawSemaphore, TooManyPermits};

/// The kernel's id of the calling thread, as the word of a mutex names its owner.
#[inline(always)]
pub fn thread_id() -> u32 {
    crate::lot::tid()
}

/// The same if the thread has asked for it before, 0 otherwise. Calls nothing.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn known_thread_id() -> u32 {
    crate::sys::thread::known_tid()
}

/// What a thread that reads a rwlock may be asked later: whether it reads any. Counted by callers that
/// need it, since locks don't.
#[cfg(not(any(loom, shuttle)))]
pub mod reads {
    use crate::sys::thread;

    /// Counts a read lock of the calling thread in.
    #[inline(always)]
    pub fn began() {
        thread::began_to_read();
    }

    /// Counts a read lock of the calling thread out.
    #[inline(always)]
    pub fn ended() {
        thread::ended_reading();
    }

    /// Whether the calling thread has one.
    #[inline(always)]
    pub fn any() -> bool {
        thread::reads()
    }
}

/// Has waiters ordered by their threads' real-time priorities, those of equal ones (and all without) by
/// arrival, as the kernel orders a futex's.
///
/// A thread that has a real-time policy when it first waits has it seen to by itself. Call this where a
/// thread may get one later. From then on each sleep costs one or two system calls more.
#[cfg(not(any(loom, shuttle)))]
pub fn mind_priorities() {
    crate::sys::priority::there_are_ranks();
}

/// Lets other threads run, for whoever spins on a word that it can't sleep on: gives the processor
/// away, and from the fiftieth round on sleeps for 50 us, so that a thread of lower priority gets to run.
/// Leaves errno alone, and is no cancellation point.
#[cfg(not(any(loom, shuttle)))]
pub fn give_way(rounds: u32) {
    const YIELDS: u32 = 50;
    const NAP_NS: u32 = 50_000;
    if rounds < YIELDS {
        crate::sys::thread::yield_now();
    } else {
        crate::sys::thread::nap_for(NAP_NS);
    }
}

/// Does what the first wait would do: maps the wait-queue table, and registers the calling thread and
/// the fork handler. Worth calling where system calls may be forbidden later, or locks held that
/// these need. Costs a few system calls and no memory.
pub fn prepare() {
    crate::lot::prepare();
}

/// Ends the interruptible wait that the thread with pthread's id `pthread` is in, or the next one
/// it begins unless it calls [`forget_interrupt`] first.
///
/// The caller has already stored what the thread is to find. A walk over all threads that ever
/// waited; it may also interrupt a thread that it isn't meant for.
pub fn interrupt(pthread: usize) {
    crate::lot::interrupt_thread(pthread);
}

/// Ends the waits that the calling thread is about to leave by a jump out of a signal handler, without
/// returning from them: those for which `is_left` says so, of an address in the wait's frame. Others
/// that wait for the same are woken for no reason.
///
/// To be called before the jump. Nothing can be done for a wait that the handler came upon while it held
/// one of the engine's own locks: some ten instructions at either end of a sleep.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn abandon_waits(is_left: impl Fn(usize) -> bool) {
    if crate::lot::is_waiting() {
        crate::lot::abandon_waits(is_left);
    }
}

/// Makes the calling thread known to [`interrupt`], and forgets an interrupt that came before.
///
/// After this call, whoever stores a reason and then calls `interrupt` either has stored it in time
/// for the caller to see, or ends the caller's next interruptible wait (ORDERING.md, O-4).
pub fn forget_interrupt() {
    crate::lot::forget_interrupt();
}
