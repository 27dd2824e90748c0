//! The processor time that the program has used, as long as no sandbox may forbid to ask.

/// That of all threads of the process, in nanoseconds, as far as the kernel has counted it. `None`
/// if it may not be asked.
#[cfg(not(any(loom, shuttle, miri, simulated)))]
pub(crate) fn processor_time_ns() -> Option<u64> {
    use super::sched_yield::{forgo, may_call};
    use super::syscall::syscall;

    if !may_call() {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let into = core::ptr::from_mut(&mut time).expose_provenance();
    let arguments = [libc::CLOCK_PROCESS_CPUTIME_ID as usize, into, 0, 0, 0, 0];
    // SAFETY: it writes one timespec.
    if unsafe { syscall(libc::SYS_clock_gettime, arguments) }.is_err() {
        forgo();
        return None;
    }
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// There are no processors here.
#[cfg(any(loom, shuttle, miri, simulated))]
pub(crate) fn processor_time_ns() -> Option<u64> {
    None
}
