//! libc's `syscall`, for futex(2): libstdc++'s atomic waits, Rust's std and many custom locks call
//! it by number.
//!
//! Calls that may give a thread a real-time priority go to glibc, and are noted if they succeed
//! (`priority`). Every other number goes to glibc by a jump, with all registers and the stack
//! unchanged, so that nothing about it can differ. Futex calls on private words run on the engine;
//! a wake that finds too few waiters there goes on to the kernel, since other code may wait with
//! its own system call. (A wake by such a system call doesn't find waiters here: `FURWOCK_FUTEX=0`
//! is for programs that mix the two on one word.)

use crate::recording::{self, Ended, Kind, Wait};
use crate::{glibc, priority};
use core::ffi::{c_long, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// The target of calls that aren't for the engine: glibc's `syscall`.
static ELSEWHERE: AtomicPtr<c_void> = AtomicPtr::new(glibc::system_call as *mut c_void);

/// The target of futex calls: `futex_call`, or glibc too.
static FUTEX: AtomicPtr<c_void> = AtomicPtr::new(glibc::system_call as *mut c_void);

/// Looks up glibc's function, and takes over futex calls if asked to.
pub(crate) fn start(takes_futex: bool) {
    let glibc = glibc::syscall();
    if glibc.is_null() {
        return;
    }
    ELSEWHERE.store(recording::before_glibc(glibc), Ordering::Release);
    FUTEX.store(if takes_futex { futex_call as *mut c_void } else { glibc }, Ordering::Release);
}

/// `syscall(2)`'s wrapper.
///
/// futex_waitv is 449, and futex_wake, futex_wait and futex_requeue are 454 to 456; `futex_call`
/// sorts out the numbers in between.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syscall(number: c_long) -> c_long {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {futex}",
        "je 2f",
        "lea r11, [rdi - {waitv}]",
        "cmp r11, {requeue} - {waitv}",
        "jbe 2f",
        // sched_setparam, sched_getparam and sched_setscheduler.
        "lea r11, [rdi - {setparam}]",
        "cmp r11, {setscheduler} - {setparam}",
        "jbe 3f",
        "cmp rdi, {setattr}",
        "je 3f",
        "jmp qword ptr [rip + {elsewhere}]",
        "2:",
        "jmp qword ptr [rip + {taken}]",
        "3:",
        "jmp {priority}",
        ".cfi_endproc",
        setparam = const libc::SYS_sched_setparam,
        setscheduler = const libc::SYS_sched_setscheduler,
        setattr = const libc::SYS_sched_setattr,
        priority = sym priority_call,
        futex = const libc::SYS_futex,
        waitv = const 449,
        requeue = const 456,
        elsewhere = sym ELSEWHERE,
        taken = sym FUTEX,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "hint 34",
        "cmp x0, {futex}",
        "b.eq 2f",
        "sub x16, x0, {waitv}",
        "cmp x16, {requeue} - {waitv}",
        "b.ls 2f",
        // sched_setparam and sched_setscheduler.
        "sub x16, x0, {setparam}",
        "cmp x16, {setscheduler} - {setparam}",
        "b.ls 3f",
        "cmp x0, {setattr}",
        "b.eq 3f",
        "adrp x16, {elsewhere}",
        "ldr x16, [x16, :lo12:{elsewhere}]",
        "br x16",
        "2:",
        "adrp x16, {taken}",
        "ldr x16, [x16, :lo12:{taken}]",
        "br x16",
        "3:",
        "b {priority}",
        ".cfi_endproc",
        setparam = const libc::SYS_sched_setparam,
        setscheduler = const libc::SYS_sched_setscheduler,
        setattr = const libc::SYS_sched_setattr,
        priority = sym priority_call,
        futex = const libc::SYS_futex,
        waitv = const 449,
        requeue = const 456,
        elsewhere = sym ELSEWHERE,
        taken = sym FUTEX,
    );
}

/// Entered by a jump from `syscall`: the arguments are where they are for any function of seven (on
/// x86-64 the last one on the stack), whether or not the caller gave as many.
unsafe extern "C-unwind" fn futex_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let wait =
        if waits(number, b) { Some(Wait::begin(a as *const u32, Kind::Word, || 0)) } else { None };
    // SAFETY: by the system call's contract, which is the program's to keep.
    let done = unsafe { furwock::linux::syscall(number, [a, b, c, d, e, f]) };
    if let Some(wait) = wait {
        wait.end(|| match done {
            Some(Err(libc::ETIMEDOUT)) => Ended::TimedOut,
            Some(Ok(_) | Err(libc::EINTR)) => Ended::Over,
            _ => Ended::Not,
        });
    }
    match done {
        Some(Ok(result)) => result as c_long,
        Some(Err(errno)) => glibc::failed(errno),
        // SAFETY: the program's own call.
        None => unsafe { glibc::system_call(number, a, b, c, d, e, f) },
    }
}

/// Whether a call waits on the word at its first argument, and its second says so.
#[inline(always)]
fn waits(number: c_long, operation: usize) -> bool {
    /// `futex_wait`.
    const FUTEX_WAIT_CALL: c_long = 455;
    let operation = operation as i32 & libc::FUTEX_CMD_MASK;
    let is_wait = matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET);
    cfg!(feature = "recording")
        && (number == FUTEX_WAIT_CALL || (number == libc::SYS_futex && is_wait))
}

/// Entered like `futex_call`.
unsafe extern "C-unwind" fn priority_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    // SAFETY: the program's own call.
    unsafe {
        let result = glibc::system_call(number, a, b, c, d, e, f);
        priority::note_call(number, b, result);
        result
    }
}
