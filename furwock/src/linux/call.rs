//! System calls by number: futex(2), futex_waitv(2), and the three that Linux 6.7 added.

use super::operation::{AtOnce, Face, Operation};
use super::user_memory;
use super::waitv::Call;
use crate::lot::Signals;
use crate::sys::futex2::{MPOL, NUMA, PRIVATE, SIZE_U32, Waitv};
use crate::sys::{signals, syscall};
use core::ptr::{null, null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use core::sync::atomic::{AtomicU8, Ordering};

const FUTEX_WAITV: libc::c_long = libc::SYS_futex_waitv;
const FUTEX_WAKE: libc::c_long = FUTEX_WAITV + 5;
const FUTEX_WAIT: libc::c_long = FUTEX_WAITV + 6;
const FUTEX_REQUEUE: libc::c_long = FUTEX_WAITV + 7;

/// futex2's flags for a private word of 32 bits.
const PRIVATE_32: u32 = PRIVATE | SIZE_U32;

/// Whether futex2's flags are those of a private word of 32 bits, perhaps with flags of a later
/// kernel. (Words with a memory node's number are queued by that too, and only in the kernel.)
fn is_plain(flags: u32) -> bool {
    const SIZE: u32 = 3;
    flags & (SIZE | PRIVATE | NUMA | MPOL) == PRIVATE_32
}

/// Makes the futex call with this number and these arguments for a program that believes it is
/// calling the kernel. `None` if it isn't a futex call or has to go to the kernel unchanged;
/// otherwise its result, or its errno.
///
/// # Safety
/// As for the system call.
#[inline]
pub unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> Option<Result<usize, i32>> {
    let [a, b, c, d, e, f] = arguments;
    if number == libc::SYS_futex {
        let (word, timeout) = (with_exposed_provenance_mut(a), with_exposed_provenance(d));
        match Operation::at_once(word, b as i32, c as u32, timeout, Face::SystemCall) {
            AtOnce::Done(result) => return Some(result),
            AtOnce::InKernel => return None,
            AtOnce::Not => {}
        }
    }
    // SAFETY: by this function's contract.
    unsafe { syscall_slow(number, a, b, c, d, e, f) }
}

/// (The arguments one by one, so that the caller needn't put them into memory first.)
///
/// # Safety
/// As for the system call.
#[inline(never)]
unsafe fn syscall_slow(
    number: libc::c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> Option<Result<usize, i32>> {
    let arguments = [a, b, c, d, e, f];
    let operation = match number {
        libc::SYS_futex => {
            if b as i32 & libc::FUTEX_PRIVATE_FLAG == 0 {
                return None;
            }
            Operation {
                uaddr: with_exposed_provenance_mut(a),
                op: b as i32,
                val: c as u32,
                timeout_or_val2: with_exposed_provenance(d),
                uaddr2: with_exposed_provenance_mut(e),
                val3: f as u32,
                signals: Signals::AsFutex,
            }
        }
        FUTEX_WAITV => {
            let call = Call {
                waiters: with_exposed_provenance(a),
                count: b as u32,
                flags: c as u32,
                timeout: with_exposed_provenance(d),
                clock: e as libc::clockid_t,
            };
            // SAFETY: by this function's contract.
            return kernel_has(number).then(|| unsafe { call.run(Face::SystemCall) });
        }
        // futex_wake(uaddr, mask, count, flags)
        FUTEX_WAKE if is_plain(d as u32) && b <= MASK && c as i32 != 0 && kernel_has(number) => {
            let wake = Operation {
                uaddr: with_exposed_provenance_mut(a),
                op: libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG,
                val: c as u32,
                timeout_or_val2: null(),
                uaddr2: null_mut(),
                val3: b as u32,
                signals: Signals::AsFutex,
            };
            if d as u32 != PRIVATE_32 {
                // SAFETY: by this function's contract.
                return Some(unsafe { kernel_first(number, arguments, wake) });
            }
            wake
        }
        // futex_wait(uaddr, val, mask, flags, timeout, clock)
        FUTEX_WAIT if d as u32 == PRIVATE_32 && b <= MASK && c <= MASK && kernel_has(number) => {
            let clock = match f as libc::clockid_t {
                _ if e == 0 => 0,
                libc::CLOCK_MONOTONIC => 0,
                libc::CLOCK_REALTIME => libc::FUTEX_CLOCK_REALTIME,
                _ => return None,
            };
            Operation {
                uaddr: with_exposed_provenance_mut(a),
                op: libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG | clock,
                val: b as u32,
                timeout_or_val2: with_exposed_provenance(e),
                uaddr2: null_mut(),
                val3: c as u32,
                signals: Signals::AsWaitv,
            }
        }
        // futex_requeue(waiters, flags, wake, requeue)
        FUTEX_REQUEUE if kernel_has(number) => {
            let waiters: *const Waitv = with_exposed_provenance(a);
            let from = user_memory::copy(waiters).ok()?;
            let to = user_memory::copy(waiters.wrapping_add(1)).ok()?;
            let fits = |waiter: Waitv| {
                is_plain(waiter.flags) && waiter.reserved == 0 && waiter.val >> 32 == 0
            };
            if !fits(from) || !fits(to) {
                return None;
            }
            let requeue = Operation {
                uaddr: with_exposed_provenance_mut(from.uaddr as usize),
                op: libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG,
                val: c as u32,
                timeout_or_val2: core::ptr::without_provenance(d),
                uaddr2: with_exposed_provenance_mut(to.uaddr as usize),
                val3: from.val as u32,
                signals: Signals::AsFutex,
            };
            if b as u32 != 0 || from.flags != PRIVATE_32 || to.flags != PRIVATE_32 {
                // SAFETY: by this function's contract.
                return Some(unsafe { kernel_first(number, arguments, requeue) });
            }
            requeue
        }
        _ => return None,
    };
    // SAFETY: by this function's contract.
    Some(unsafe { operation.run_closed(Face::SystemCall) })
}

/// For flags that aren't known here: the kernel executes or refuses the call, and the rest of
/// `operation` is done here.
///
/// # Safety
/// As for the system call.
#[cold]
#[inline(never)]
unsafe fn kernel_first(
    number: libc::c_long,
    arguments: [usize; 6],
    operation: Operation,
) -> Result<usize, i32> {
    signals::closed(|| {
        // SAFETY: by this function's contract.
        let done = unsafe { syscall::syscall(number, arguments) }.map_err(|errno| errno.0)?;
        Ok(done + operation.run_here_after(done))
    })
}

/// The widest value, or bitset, of a word of 32 bits.
const MASK: usize = u32::MAX as usize;

/// Whether the kernel has a call: a program that probes for it must get the kernel's answer.
fn kernel_has(number: libc::c_long) -> bool {
    const UNKNOWN: u8 = 0;
    const HAS: u8 = 1;
    const LACKS: u8 = 2;
    static CALLS: [AtomicU8; 4] = [const { AtomicU8::new(UNKNOWN) }; 4];
    let known = match number {
        FUTEX_WAITV => &CALLS[0],
        FUTEX_WAKE => &CALLS[1],
        FUTEX_WAIT => &CALLS[2],
        FUTEX_REQUEUE => &CALLS[3],
        _ => return false,
    };
    if known.load(Ordering::Relaxed) == UNKNOWN {
        // Flags that no kernel knows: refused before any other check.
        let everything = usize::MAX;
        // SAFETY: refused.
        let answer = unsafe {
            syscall::syscall(number, [0, everything, everything, everything, everything, 0])
        };
        let lacks = matches!(answer, Err(errno) if errno.0 != libc::EINVAL);
        known.store(if lacks { LACKS } else { HAS }, Ordering::Relaxed);
    }
    known.load(Ordering::Relaxed) == HAS
}
