//! futex(2).

use super::clock::{Clock, Deadline};
#[cfg(not(any(loom, shuttle)))]
use super::futex2::{self, Failure, Waitv};
use super::sched_yield::may_call;
use super::syscall::{Errno, syscall};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// Woken, or the word no longer held the expected value.
    Ended,
    /// A signal handler ran that doesn't ask for interrupted calls to go on (`SA_RESTART`), or
    /// any while there was a deadline.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    Signalled,
    /// The deadline passed.
    TimedOut,
}

/// `futex(uaddr, op, val, timeout_or_val2, uaddr2, val3)`, for any operation.
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

/// Whether the kernel serves private futexes: old kernels don't, and a sandbox may forbid the call.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn is_allowed() -> bool {
    let word = AtomicU32::new(0);
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a wake touches nothing; no thread waits.
    unsafe { futex(word.as_ptr(), wake, 1, 0, core::ptr::null(), 0) }.is_ok()
}

const WAIT: i32 = libc::FUTEX_WAIT_BITSET;
const WAIT_PRIVATE: i32 = WAIT | libc::FUTEX_PRIVATE_FLAG;

/// Waits while `word`, private to the process, holds `expected`.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn wait(word: &AtomicU32, expected: u32, deadline: Option<&Deadline>) -> Sleep {
    wait_by(WAIT_PRIVATE, word, expected, deadline)
}

/// The parker's sleep: the same, inlined into `signals::open_for`. Each frame is one that a
/// debugger shows between the system call and the program (docs/tools.md).
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub(crate) fn sleep(word: &AtomicU32, expected: u32, deadline: Option<&Deadline>) -> Sleep {
    wait_by(WAIT_PRIVATE, word, expected, deadline)
}

/// The same by `futex_waitv`, which a signal handler with `SA_RESTART` doesn't end, deadline or
/// not.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn sleep_restarting(
    word: &AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    let waitv = Waitv::new(word.as_ptr(), expected, futex2::PRIVATE | futex2::SIZE_U32);
    // SAFETY: the word outlives the call.
    match unsafe { futex2::waitv(&[waitv], deadline) } {
        Ok(_) => Sleep::Ended,
        Err(Failure::Errno(Errno(libc::ETIMEDOUT))) => Sleep::TimedOut,
        Err(Failure::Errno(Errno(libc::EINTR))) => Sleep::Signalled,
        Err(Failure::Errno(_)) => Sleep::Ended,
        Err(Failure::Absent) => sleep(word, expected, deadline),
    }
}

/// Waits while `word`, which other processes may map too, holds `expected`.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn wait_shared(word: &AtomicU32, expected: u32, deadline: Option<&Deadline>) -> Sleep {
    wait_by(WAIT, word, expected, deadline)
}

#[inline(always)]
fn wait_by(op: i32, word: &AtomicU32, expected: u32, deadline: Option<&Deadline>) -> Sleep {
    let mut op = op;
    if deadline.is_some_and(|deadline| deadline.clock() == Clock::Realtime) {
        op |= libc::FUTEX_CLOCK_REALTIME;
    }
    let timeout =
        deadline.map_or(0, |deadline| core::ptr::from_ref(deadline.timespec()).expose_provenance());
    let any = libc::FUTEX_BITSET_MATCH_ANY as u32;
    let word = word.as_ptr().expose_provenance();
    let arguments = [word, op as usize, expected as usize, timeout, 0, any as usize];
    // SAFETY: what they point to lives until the call returns, and is only read.
    match unsafe { syscall(libc::SYS_futex, arguments) } {
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

/// Wakes one thread at each of two words, private to the process, in one system call, unless a
/// sandbox may forbid that. Both have to be writable, and neither is changed; the second's number
/// may not be negative.
///
/// `FUTEX_WAKE_OP` changes the second word, here by an `or` with 0, and its second wake depends on
/// what was there.
#[cfg_attr(any(loom, shuttle, simulated), allow(dead_code))]
pub(crate) fn wake_two(first: &AtomicU32, second: &AtomicU32) {
    static IS_REFUSED: AtomicBool = AtomicBool::new(false);
    // (Miri knows no such call.)
    if !cfg!(miri) && may_call() && !IS_REFUSED.load(Ordering::Relaxed) {
        let op = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
        let no_change = (libc::FUTEX_OP_OR << 28 | libc::FUTEX_OP_CMP_GE << 24) as u32;
        // SAFETY: the words are live, and may be written through a shared reference.
        if unsafe { futex(first.as_ptr(), op, 1, 1, second.as_ptr(), no_change) }.is_ok() {
            return;
        }
        IS_REFUSED.store(true, Ordering::Relaxed);
    }
    wake(first, 1);
    wake(second, 1);
}

/// Stores `new` and wakes `count` waiters of the shared `word`, in one system call: a thread that
/// is killed has done both or neither. Orders like a swap.
///
/// `FUTEX_WAKE_OP` carries twelve bits, sign-extended: `new` is 0 or all ones.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn store_and_wake_shared(word: &AtomicU32, new: u32, count: u32) {
    debug_assert!(new == 0 || new == u32::MAX);
    // Its second wake, at the word if that was 0, is not wanted: this isn't called then.
    let set_to =
        (libc::FUTEX_OP_SET << 28 | libc::FUTEX_OP_CMP_EQ << 24) as u32 | (new & 0xfff) << 12;
    // SAFETY: the word is live, and may be written through a shared reference.
    let result =
        unsafe { futex(word.as_ptr(), libc::FUTEX_WAKE_OP, count, 0, word.as_ptr(), set_to) };
    if result.is_err() {
        // A filter forbids it: the same in two steps.
        word.swap(new, Ordering::AcqRel);
        // SAFETY: the kernel uses the address only to find sleepers.
        _ = unsafe { futex(word.as_ptr(), libc::FUTEX_WAKE, count, 0, core::ptr::null(), 0) };
    }
}
