//! Calls with their operands in place.

use super::{Futex, Waitv};
use std::ptr;

/// Lives at least as long as the call.
pub(super) enum Raw {
    Futex {
        uaddr: *mut u32,
        op: i32,
        val: u32,
        timeout: Option<libc::timespec>,
        val2: usize,
        uaddr2: *mut u32,
        val3: u32,
    },
    Waitv {
        waiters: Vec<Waitv>,
        flags: u32,
        timeout: Option<libc::timespec>,
        clock: libc::clockid_t,
    },
}

impl Raw {
    /// Makes the call.
    ///
    /// # Safety
    /// The operands must be what `implementation` may be called with.
    pub(super) unsafe fn perform(&self, implementation: &dyn Futex) -> Result<i64, i32> {
        let pointer = |timeout: &Option<libc::timespec>| timeout.as_ref().map(ptr::from_ref);
        match self {
            Raw::Futex { uaddr, op, val, timeout, val2, uaddr2, val3 } => {
                let fourth = pointer(timeout).unwrap_or(ptr::without_provenance(*val2));
                // SAFETY: by the caller's promise.
                unsafe { implementation.futex(*uaddr, *op, *val, fourth, *uaddr2, *val3) }
            }
            Raw::Waitv { waiters, flags, timeout, clock } => {
                let timeout = pointer(timeout).unwrap_or(ptr::null());
                let count = waiters.len() as u32;
                // SAFETY: by the caller's promise.
                unsafe { implementation.waitv(waiters.as_ptr(), count, *flags, timeout, *clock) }
            }
        }
    }
}
