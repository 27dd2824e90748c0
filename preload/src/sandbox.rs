//! Sandboxes that the program enters. A filter of system calls may end a program at one that it
//! doesn't know, so from then on furwock makes none on the way to a lock that glibc's own locks
//! don't make: no waiter yields (docs/sandboxes.md).
//!
//! This library sees `prctl`, and `syscall` by number. A filter that was there when the program
//! began, or that is set by an instruction of the program's own, isn't known here.

use crate::{glibc, recording};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicU32, Ordering};
use furwock::lock::forgo_yields;

/// How many calls that enter one are under way, and `ENTERED` once one has succeeded.
static STATE: AtomicU32 = AtomicU32::new(0);

const ENTERED: u32 = 1 << 31;

/// Whether the program has entered one, or is about to.
#[cfg_attr(not(feature = "recording"), allow(dead_code, reason = "for the recorder"))]
#[inline]
pub(crate) fn is_entered() -> bool {
    STATE.load(Ordering::Relaxed) != 0
}

/// In a forked child: calls of the parent's other threads aren't under way here.
pub(crate) fn forked() {
    STATE.fetch_and(ENTERED, Ordering::Relaxed);
}

/// Whether a system call puts the caller under a filter, if it succeeds.
fn enters(number: c_long, first: usize) -> bool {
    const SECCOMP_SET_MODE_FILTER: usize = 1;
    match number {
        libc::SYS_prctl => first as c_int == libc::PR_SET_SECCOMP,
        libc::SYS_seccomp => first as u32 as usize <= SECCOMP_SET_MODE_FILTER,
        _ => false,
    }
}

/// Makes the program's call, which may enter a sandbox.
pub(crate) fn through(number: c_long, first: usize, call: impl FnOnce() -> c_long) -> c_long {
    if !enters(number, first) || STATE.load(Ordering::Relaxed) & ENTERED != 0 {
        return call();
    }
    recording::before_sandbox();
    STATE.fetch_add(1, Ordering::Relaxed);
    // For good: a program that fails to enter this one most likely enters another.
    forgo_yields();
    let result = call();
    if result >= 0 {
        STATE.fetch_or(ENTERED, Ordering::Relaxed);
    }
    STATE.fetch_sub(1, Ordering::Relaxed);
    result
}

/// Linux `prctl`, whose arguments glibc's passes on as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn prctl(
    option: c_int,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
) -> c_int {
    // Not with glibc's function, which does no more: libc's symbol table leads to this one, also
    // another library's wrapper that this one would call (`symbols`).
    let (number, first) = (libc::SYS_prctl, option as usize);
    // SAFETY: the program's own call.
    through(number, first, || unsafe { glibc::system_call(number, first, a, b, c, d, 0) }) as c_int
}
