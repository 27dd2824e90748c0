//! Calls with their operands in place.

use super::{Futex, FutexCall, Waitv, WaitvCall};
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
        match *self {
            Raw::Futex { uaddr, op, val, ref timeout, val2, uaddr2, val3 } => {
                let timeout_or_val2 = pointer(timeout).unwrap_or(ptr::without_provenance(val2));
                let call = FutexCall { uaddr, op, val, timeout_or_val2, uaddr2, val3 };
                // SAFETY: by the caller's promise.
                unsafe { implementation.futex(call) }
            }
            Raw::Waitv { ref waiters, flags, ref timeout, clock } => {
                let timeout = pointer(timeout).unwrap_or(ptr::null());
                let (waiters, count) = (waiters.as_ptr(), waiters.len() as u32);
                let call = WaitvCall { waiters, count, flags, timeout, clock };
                // SAFETY: by the caller's promise.
                unsafe { implementation.waitv(call) }
            }
        }
    }
}
