//! The kernel: what the others are measured by.

use super::{Futex, FutexCall, WaitvCall};

/// The system calls themselves.
#[derive(Debug)]
pub struct Kernel;

impl Futex for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    unsafe fn futex(&self, call: FutexCall) -> Result<i64, i32> {
        let FutexCall { uaddr, op, val, timeout_or_val2, uaddr2, val3 } = call;
        // SAFETY: by the caller's promise.
        errno_of(unsafe {
            libc::syscall(libc::SYS_futex, uaddr, op, val, timeout_or_val2, uaddr2, val3)
        })
    }

    unsafe fn waitv(&self, call: WaitvCall) -> Result<i64, i32> {
        let WaitvCall { waiters, count, flags, timeout, clock } = call;
        // SAFETY: by the caller's promise.
        errno_of(unsafe {
            libc::syscall(libc::SYS_futex_waitv, waiters, count, flags, timeout, clock)
        })
    }
}

fn errno_of(result: libc::c_long) -> Result<i64, i32> {
    match result {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        value => Ok(value),
    }
}
