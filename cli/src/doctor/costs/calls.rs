//! What system calls cost that neither sleep nor wake.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use super::bound::{each_ns, futex_wait, futex_wake, on};
use super::samples::Samples;

const CALLS: u32 = 300;

pub fn measure(processor: usize) -> Samples {
    on(processor, || Some(here())).unwrap_or_else(here)
}

fn here() -> Samples {
    let mut samples = Samples::default();
    let word = AtomicU32::new(0);
    // SAFETY: no arguments.
    let call = || _ = unsafe { libc::syscall(libc::SYS_getppid) };
    samples.add("call", Some(each_ns(CALLS, call)));
    let mismatch = || futex_wait(&word, 1, Duration::from_millis(1));
    samples.add("mismatch", Some(each_ns(CALLS, mismatch)));
    samples.add("nobody", Some(each_ns(CALLS, || _ = futex_wake(&word))));
    samples
}
