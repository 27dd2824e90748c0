//! What furwock's own preload, C library and benchmarks need beyond the locks.
//!
//! **Unstable.** Nothing here is part of the crate's interface: it may change or go with any
//! version. A program that uses it builds against one commit.

pub use crate::futex::wait::wait_in_bucket;
pub use crate::lock::condvar::unstable as condvar;
#[cfg(not(any(loom, shuttle)))]
pub use crate::lock::mutex::unstable as mutex;
pub use crate::lock::once::unstable as once;
#[cfg(not(any(loom, shuttle)))]
pub use crate::lock::robust::rwlock::unstable as robust_rwlock;
pub use crate::lock::rwlock::unstable as rwlock;
pub use crate::lock::semaphore::unstable as semaphore;

/// Makes a system call, which a signal handler may leave for good. What the kernel returns, or the
/// errno; errno itself stays as it is.
///
/// # Safety
/// As the call has it.
#[cfg(not(any(loom, shuttle)))]
pub unsafe fn system_call(
    number: core::ffi::c_long,
    arguments: &[usize; 6],
) -> Result<usize, core::ffi::c_int> {
    // SAFETY: by this function's contract.
    let result = unsafe { crate::sys::syscall::syscall_that_may_be_left(number, arguments) };
    result.map_err(|errno| errno.0)
}

/// Whether the kernel would refuse this futex(2) call since the word holds another value; if not,
/// the caller makes it. Any address is allowed.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn refuses_wait(
    word: *const u32,
    op: core::ffi::c_int,
    value: u32,
    timeout: *const libc::timespec,
) -> bool {
    crate::linux::refusal::refuses(word, op, value, timeout)
}

/// [`thread_id`](crate::lock::thread_id) if the thread has asked for it before, 0 otherwise. Calls
/// nothing.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn known_thread_id() -> u32 {
    crate::sys::thread::known_tid()
}

/// Asks the kernel for the calling thread's id again, and goes by that: for a process that was made
/// without fork's handlers. The thread holds no lock that says who holds it.
#[cfg(not(any(loom, shuttle)))]
#[allow(clippy::must_use_candidate)]
#[inline(always)]
pub fn refresh_thread_id() -> u32 {
    crate::sys::thread::refresh_tid()
}

/// What `furwock run --monitor` and the preload share.
#[cfg(not(any(loom, shuttle, simulated)))]
pub mod monitor {
    pub use crate::sys::monitor::{Header, MAGIC, OFF, ON, SWITCHES, VARIABLE};

    /// Spins from now on for owners that have a processor only, as the map behind `descriptor`
    /// tells. False, and nothing is changed, if it is no such map, or not of this process's
    /// threads.
    #[allow(clippy::must_use_candidate)]
    pub fn watch(descriptor: core::ffi::c_int) -> bool {
        crate::sys::monitor::watch(descriptor, crate::lot::tid())
    }
}

/// Lets other threads run, for a caller that spins on a word that it can't sleep on: sleeps for 0.1
/// ms, and in later rounds for up to 1.6 ms, so that a thread of lower priority gets to run. Makes
/// no system call but futex(2), leaves errno alone, and is no cancellation point.
///
/// `sched_yield` gained nothing here: with 2, 4 and 16 threads on two processors, and 4 on one,
/// sleeps let as many of them through, or more.
#[cfg(not(any(loom, shuttle)))]
pub fn give_way(rounds: u32) {
    const FIRST_NS: u32 = 100_000;
    crate::sys::thread::nap_for(FIRST_NS << rounds.min(4));
}

/// Whether no other thread seems to want the caller's processor: a `sched_yield` returned at once.
/// It does so, too, where one of lower priority wants it, and where the scheduler finds that the
/// caller is to have it first: no caller may rely on it for more than a moment. False, without a
/// call, where yields say nothing: there are threads of other priorities, or a sandbox may forbid
/// the call. Leaves errno alone, and is no cancellation point.
#[cfg(not(any(loom, shuttle)))]
pub fn has_processor_alone() -> bool {
    crate::lock::yields::return_at_once()
}

/// [`prepare`](crate::lock::prepare), and says if the system refuses what waits need: a caller that
/// has other locks should turn to them then. furwock's work all the same if memory is lacking, but
/// slowly.
#[cfg(not(any(loom, shuttle)))]
pub fn try_prepare() -> Result<(), Unprepared> {
    if !crate::sys::futex::is_allowed() {
        return Err(Unprepared::NoFutex);
    }
    if crate::lot::prepare() { Ok(()) } else { Err(Unprepared::NoMemory) }
}

/// Has the kernel expect many sleepers (prctl(2), `PR_FUTEX_HASH`), if this process has one thread
/// so far. After [`try_prepare`].
#[cfg(not(any(loom, shuttle)))]
pub fn enlarge_kernel_table() {
    crate::sys::kernel_table::enlarge(crate::lot::processors());
}

/// What [`try_prepare`] found lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unprepared {
    /// The kernel gives no memory for the wait-queue table.
    NoMemory,
    /// The kernel has no private futexes, or a sandbox forbids them.
    NoFutex,
}

impl core::fmt::Display for Unprepared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoMemory => "the kernel gives no memory for the wait queues",
            Self::NoFutex => "the kernel refuses private futexes",
        })
    }
}

impl core::error::Error for Unprepared {}

/// Ends the interruptible wait that the thread with pthread's id `pthread` is in, or the next one
/// it begins unless it calls [`forget_interrupt`] first.
///
/// The caller has already stored what the thread is to find. A walk over all threads that ever
/// waited; it may also interrupt a thread that it isn't meant for.
pub fn interrupt(pthread: usize) {
    crate::lot::interrupt_thread(pthread);
}

/// Ends the waits that the calling thread is about to leave by a jump out of a signal handler,
/// without returning from them: those for which `is_left` says so, of an address in the wait's
/// frame. Others that wait for the same are woken for no reason.
///
/// To be called before the jump. Nothing can be done for a wait that the handler came upon while it
/// held one of the engine's own locks: some ten instructions at either end of a sleep, which
/// [`signals`] keeps handlers out of.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn abandon_waits(is_left: impl Fn(usize) -> bool) {
    if crate::lot::is_waiting() {
        crate::lot::abandon_waits(is_left);
    }
}

/// The same while an unwind is on its way through those frames, for a caller that comes before it.
#[cfg(not(any(loom, shuttle)))]
pub fn end_waits(is_left: impl Fn(usize) -> bool) {
    if crate::lot::is_waiting() {
        crate::lot::end_waits(is_left);
    }
}

/// Keeps the program's signal handlers out of calls that they mustn't cut, since a handler may
/// leave what it interrupted for good. For callers that install all handlers.
#[cfg(not(any(loom, shuttle)))]
pub mod signals {
    use crate::sys::{signals, thread};
    use core::ffi::{c_int, c_void};

    /// Calls `call`. Handlers that ask [`postpone`] wait until it has returned, or sleeps; those
    /// that leave it while it sleeps unwind it, or [`abandon_waits`](super::abandon_waits).
    ///
    /// The calling function must have nothing to drop.
    #[inline(always)]
    pub fn closed<R>(call: impl FnOnce() -> R) -> R {
        signals::closed(call)
    }

    /// Whether the caller, a handler of `signal`, is to return at once: it has come upon a closed
    /// call of its thread, and will be called again, with the same `info`, when that is over or
    /// sleeps. Handlers of faults are never put off; nor is any where the kernel refuses to queue
    /// the signal again.
    ///
    /// `handler` is what the kernel called.
    ///
    /// # Safety
    /// Called first thing in a handler that was installed with `SA_SIGINFO`, with the kernel's
    /// arguments.
    #[inline]
    pub unsafe fn postpone(
        signal: c_int,
        info: *const libc::siginfo_t,
        context: *mut c_void,
        handler: usize,
    ) -> bool {
        // SAFETY: by this function's contract.
        unsafe { signals::postpone(signal, info, context, handler) }
    }

    /// Before a jump: opens the closed call that a fault's handler is about to leave for good, if
    /// `is_left` says so of an address in the call's frame.
    #[inline]
    pub fn leave(is_left: impl Fn(usize) -> bool) {
        signals::leave(is_left);
    }

    /// Has the kernel call `instead(handler)` for `signal` in place of `handler`, past libc. False
    /// if `signal` has no handler.
    pub fn replace_handler(signal: c_int, instead: impl FnOnce(usize) -> Option<usize>) -> bool {
        signals::replace_handler(signal, instead)
    }

    /// What the caller's thread has noted by [`note`]; 0 at first.
    #[inline]
    pub fn noted() -> usize {
        thread::slot().noted.get()
    }

    /// Has the caller's thread keep `value` for its handlers.
    #[inline]
    pub fn note(value: usize) {
        thread::slot().noted.set(value);
    }
}

/// Makes the calling thread known to [`interrupt`], and forgets an interrupt that came before.
///
/// After this call, a thread that stores a reason and then calls `interrupt` either has stored it
/// in time for the caller to see, or ends the caller's next interruptible wait (ORDERING.md, O-4).
pub fn forget_interrupt() {
    crate::lot::forget_interrupt();
}

/// What a program that looks from outside finds in a process.
#[cfg(not(any(loom, shuttle)))]
pub mod inspect {
    pub use crate::inspect::layout::{Inspect, MAGIC, VERSION};

    use crate::inspect::LongWait;
    use crate::lot::names;

    /// Names the object at `address`, of whichever kind. Returns whether there was room. Locks: for
    /// callers that keep handlers out of it, in a closed call.
    pub fn set_name(address: usize, name: &str) -> bool {
        names::set(address, name)
    }

    /// Whether anything has, or had, a name. One load.
    #[inline]
    pub fn are_there_names() -> bool {
        names::are_there_any()
    }

    /// Takes the name from the object at `address`, if it has one. As [`set_name`].
    #[inline]
    pub fn remove_name(address: usize) {
        names::remove(address);
    }

    /// [`on_long_wait`](crate::inspect::on_long_wait) for a caller that can't allocate. The first
    /// call counts.
    pub fn watch_long_waits(limit: core::time::Duration, hook: fn(&LongWait)) {
        crate::inspect::watch(limit, hook);
    }
}

/// The constants of the locks and the engine, which only simulations may set.
#[cfg(simulated)]
pub mod constants {
    pub use crate::prim::constant::{Constant, OutOfRange};
}
