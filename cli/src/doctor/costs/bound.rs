//! Threads on processors of their own, the clock, and futex(2).

use std::sync::atomic::AtomicU32;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::affinity::bind;

/// Runs `body` in a thread on `processor`. It returns nothing if it can't be bound; there is no
/// thread if none can be started.
pub fn spawn_on<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    processor: usize,
    body: impl FnOnce() -> Option<T> + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, Option<T>>> {
    let bound = move || bind(None, processor).and_then(|()| body());
    Builder::new().spawn_scoped(scope, bound).ok()
}

/// The same, and waits for its end.
pub fn on<T: Send>(processor: usize, body: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    std::thread::scope(|scope| spawn_on(scope, processor, body)?.join().ok().flatten())
}

/// The monotonic clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds for one of `calls` calls: the median of some trials, as few of them are disturbed.
pub fn each_ns(calls: u32, mut call: impl FnMut()) -> f64 {
    const TRIALS: usize = 9;
    let mut trial = || {
        let start = now_ns();
        (0..calls).for_each(|_| call());
        (now_ns() - start) as f64 / f64::from(calls)
    };
    let trials: Vec<f64> = (0..TRIALS).map(|_| trial()).collect();
    crate::statistics::median(&trials)
}

/// `FUTEX_WAIT`.
pub fn futex_wait(word: &AtomicU32, expected: u32, at_most: Duration) {
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs() as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel reads the word and the time, which both outlive the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, &timeout) };
}

/// `FUTEX_WAKE` for one; whether there was one.
pub fn futex_wake(word: &AtomicU32) -> bool {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel takes the address for a name.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;
    use rustix::thread::CpuSet;

    #[test]
    fn a_thread_that_cannot_be_bound_does_nothing() {
        assert_eq!(on(CpuSet::MAX_CPU, || Some(1)), None);
        assert_eq!(on(CpuSet::MAX_CPU - 1, || Some(1)), None);
        assert_eq!(on(affinity::allowed()[0], || Some(1)), Some(1));
    }
}
