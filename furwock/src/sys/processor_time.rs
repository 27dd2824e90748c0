//! The processor time that the program and its threads have used, as long as no sandbox may forbid
//! to ask.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::clock::monotonic_ns;
use super::sched_yield;
use super::syscall::{Errno, syscall};

static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// That of all threads of the process, in nanoseconds, as far as the kernel has counted it. It adds
/// up all threads' times, which takes 1 us, and with 1,000 threads 30 to 70. `None` if it may not
/// be asked, as it isn't once a filter has refused it.
pub(crate) fn processor_time_ns() -> Option<u64> {
    time_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// That of the calling thread, in nanoseconds, to this moment: it takes a system call, 0.1 to 0.2
/// us. `None` as above.
pub(crate) fn thread_time_ns() -> Option<u64> {
    time_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// That of the thread `tid` of this process, to this moment: it takes as long. `None` as above, or
/// if there is no such thread.
pub(crate) fn time_of_ns(tid: u32) -> Option<u64> {
    // Its clock, as the kernel numbers them: of one thread, and in nanoseconds.
    const OF_THREAD: i32 = 4;
    const IN_NS: i32 = 2;
    time_ns(!(tid as i32) << 3 | OF_THREAD | IN_NS)
}

/// Whether threads' times grow while they run, and not from tick to tick only, as where the kernel
/// has no better clock. Found out once, by the caller's own, in 2 us.
pub(crate) fn is_exact() -> bool {
    const UNKNOWN: u8 = 0;
    const EXACT: u8 = 1;
    const COARSE: u8 = 2;
    static WHAT: AtomicU8 = AtomicU8::new(UNKNOWN);
    if WHAT.load(Ordering::Relaxed) == UNKNOWN {
        let what = grows_at_once().map_or(UNKNOWN, |grows| if grows { EXACT } else { COARSE });
        WHAT.store(what, Ordering::Relaxed);
    }
    WHAT.load(Ordering::Relaxed) == EXACT
}

/// Whether the caller's time grows while it runs for 2 us; `None` if that can't be told.
fn grows_at_once() -> Option<bool> {
    const TRIED_NS: u64 = 2_000;
    const MOST_NS: u64 = 500_000;
    let before = thread_time_ns()?;
    let until = monotonic_ns() + TRIED_NS;
    while monotonic_ns() < until {
        core::hint::spin_loop();
    }
    let grown_ns = thread_time_ns()?.saturating_sub(before);
    // (With a tick in between it would be a millisecond or more.)
    let is_exact = grown_ns != 0;
    (grown_ns < MOST_NS).then_some(is_exact)
}

fn time_ns(clock: libc::clockid_t) -> Option<u64> {
    if cfg!(any(loom, shuttle, miri, simulated))
        || !sched_yield::may_call()
        || IS_REFUSED.load(Ordering::Relaxed)
    {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let into = core::ptr::from_mut(&mut time).expose_provenance();
    // SAFETY: it writes one timespec.
    match unsafe { syscall(libc::SYS_clock_gettime, [clock as usize, into, 0, 0, 0, 0]) } {
        Ok(_) => {}
        Err(Errno(libc::EINVAL)) => return None,
        Err(_) => {
            IS_REFUSED.store(true, Ordering::Relaxed);
            return None;
        }
    }
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
