//! The kernel: what the others are measured by.

use super::{Futex, Waitv};

/// The system calls themselves.
#[derive(Debug)]
pub struct Kernel;

impl Futex for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    unsafe fn futex(
        &self,
        uaddr: *mut u32,
        op: i32,
        val: u32,
        timeout_or_val2: *const libc::timespec,
        uaddr2: *mut u32,
        val3: u32,
    ) -> Result<i64, i32> {
        // SAFETY: by the caller's promise.
        errno_of(unsafe {
            libc::syscall(libc::SYS_futex, uaddr, op, val, timeout_or_val2, uaddr2, val3)
        })
    }

    unsafe fn waitv(
        &self,
        waiters: *const Waitv,
        count: u32,
        flags: u32,
        timeout: *const libc::timespec,
        clock: libc::clockid_t,
    ) -> Result<i64, i32> {
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
