//! furwock's futex(2).

use super::{Futex, Kernel, Waitv};

/// What `furwock` offers in futex(2)'s place.
#[derive(Debug)]
pub struct Engine;

impl Futex for Engine {
    fn name(&self) -> &'static str {
        "furwock"
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
        unsafe { Kernel.futex(uaddr, op, val, timeout_or_val2, uaddr2, val3) }
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
        unsafe { Kernel.waitv(waiters, count, flags, timeout, clock) }
    }
}
