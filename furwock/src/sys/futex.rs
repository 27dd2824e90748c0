//! futex(2).

use super::clock::{Clock, Deadline};
use super::syscall::{Errno, syscall};
use crate::prim::Sleep;
use core::sync::atomic::AtomicU32;

/// `futex(uaddr, op, val, timeout_or_val2, uaddr2, val3)`, whatever that may be.
///
/// # Safety
/// What the operation writes must be the caller's to write: nothing, but for `FUTEX_WAKE_OP` and
/// the operations on PI words.
#[inline]
pub(crate) unsafe fn futex(
    uaddr: *const u32,
    op: i32,
    val: u32,
    timeout_or_val2: usize,
    uaddr2: *const u32,
    val3: u32,
) -> Result<usize, Errno> {
    let arguments = [
        uaddr.expose_provenance(),
        op as usize,
        val as usize,
        timeout_or_val2,
        uaddr2.expose_provenance(),
        val3 as usize,
    ];
    // SAFETY: by this function's contract.
    unsafe { syscall(libc::SYS_futex, arguments) }
}

/// The parker's sleep: waits while `word`, private to the process, holds `expected`.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn wait(word: &AtomicU32, expected: u32, deadline: Option<&Deadline>) -> Sleep {
    let mut op = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    if deadline.is_some_and(|deadline| deadline.clock() == Clock::Realtime) {
        op |= libc::FUTEX_CLOCK_REALTIME;
    }
    let timeout =
        deadline.map_or(0, |deadline| core::ptr::from_ref(deadline.timespec()).expose_provenance());
    let any = libc::FUTEX_BITSET_MATCH_ANY as u32;
    // SAFETY: the word and the timespec outlive the call, which only reads them.
    match unsafe { futex(word.as_ptr(), op, expected, timeout, core::ptr::null(), any) } {
        Err(Errno(libc::ETIMEDOUT)) => Sleep::TimedOut,
        Err(Errno(libc::EINTR)) => Sleep::Signalled,
        _ => Sleep::Ended,
    }
}

/// The parker's wake.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the address only to find sleepers. It can't fail.
    _ = unsafe { futex(word.as_ptr(), op, count, 0, core::ptr::null(), 0) };
}
