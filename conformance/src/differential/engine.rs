//! furwock's futex(2), and what its preload does with a program's.

use super::kernel::copy_readable;
use super::{Futex, FutexCall, Kernel, PRIVATE_U32, Waitv, WaitvCall};
use furwock::linux;
use furwock::unstable::refuses_wait;

/// What the preload does with a program's call: it refuses a wait whose word holds another value,
/// and leaves all else to the kernel.
#[derive(Debug)]
pub struct SystemCall;

/// For callers that chose furwock: there are more sizes of words, and more words in one wait.
#[derive(Debug)]
pub struct Library;

impl Futex for SystemCall {
    fn name(&self) -> &'static str {
        "furwock, as a system call"
    }

    unsafe fn futex(&self, call: FutexCall) -> Result<i64, i32> {
        if refuses_wait(call.uaddr, call.op, call.val, call.timeout_or_val2) {
            return Err(libc::EAGAIN);
        }
        // SAFETY: by the caller's promise.
        unsafe { Kernel.futex(call) }
    }

    unsafe fn waitv(&self, call: WaitvCall) -> Result<i64, i32> {
        // SAFETY: by the caller's promise.
        unsafe { Kernel.waitv(call) }
    }
}

impl Futex for Library {
    fn name(&self) -> &'static str {
        "furwock, as a library"
    }

    unsafe fn futex(&self, call: FutexCall) -> Result<i64, i32> {
        let FutexCall { uaddr, op, val, timeout_or_val2, uaddr2, val3 } = call;
        // SAFETY: by the caller's promise.
        let result = unsafe { linux::futex(uaddr, op, val, timeout_or_val2, uaddr2, val3) };
        result.map(|value| value as i64)
    }

    unsafe fn waitv(&self, call: WaitvCall) -> Result<i64, i32> {
        let WaitvCall { waiters, count, flags, timeout, clock } = call;
        if extends(waiters, count) {
            // SAFETY: by the caller's promise.
            return unsafe { Kernel.waitv(call) };
        }
        // SAFETY: by the caller's promise.
        let result = unsafe { linux::waitv(waiters, count, flags, timeout, clock) };
        result.map(|value| value as i64)
    }
}

const SIZE: u32 = 3;
const MOST_IN_KERNEL: usize = 128;

/// Whether the library offers this call and the kernel doesn't: many words, or private ones of
/// other sizes. Then there is nothing to compare.
fn extends(waiters: *const Waitv, count: u32) -> bool {
    let count = count as usize;
    if count > MOST_IN_KERNEL {
        return true;
    }
    let mut copies = [Waitv::default(); MOST_IN_KERNEL];
    let readable = copy_readable(waiters, &mut copies[..count]);
    copies[..readable].iter().any(|waiter| {
        waiter.flags & !SIZE == PRIVATE_U32 & !SIZE && waiter.flags & SIZE != PRIVATE_U32 & SIZE
    })
}
