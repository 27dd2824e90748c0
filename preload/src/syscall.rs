//! libc's `syscall`, for futex(2): libstdc++'s atomic waits, Rust's std and many custom locks call
//! it by number.
//!
//! A wait that the kernel would refuse, since its word holds another value, is refused here; where
//! all threads share one processor, one that would sleep lets the others run first. All other calls
//! go to glibc's `syscall`, by a jump with all registers and the stack unchanged where nothing is
//! to be looked at, so that nothing about them can differ. In particular threads sleep and are
//! woken in the kernel, where they meet threads that wait or wake with a system call of their own.
//! Calls that may give a thread a real-time priority are noted if they succeed (`priority`), and so
//! are those that enter a sandbox (`sandbox`).

use crate::recording::{self, Ended, Kind, Wait};
use crate::{glibc, priority, sandbox};
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use furwock::unstable::refuses_wait;
use libc::timespec;

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
/// futex_wait is 455: only a wait that is recorded.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syscall(number: c_long) -> c_long {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {futex}",
        "je 2f",
        "cmp rdi, {wait}",
        "je 2f",
        // sched_setparam, sched_getparam and sched_setscheduler.
        "lea r11, [rdi - {setparam}]",
        "cmp r11, {setscheduler} - {setparam}",
        "jbe 3f",
        "cmp rdi, {setattr}",
        "je 3f",
        "cmp rdi, {prctl}",
        "je 3f",
        "cmp rdi, {seccomp}",
        "je 3f",
        "jmp qword ptr [rip + {elsewhere}]",
        "2:",
        "jmp qword ptr [rip + {taken}]",
        "3:",
        "jmp {noted}",
        ".cfi_endproc",
        setparam = const libc::SYS_sched_setparam,
        setscheduler = const libc::SYS_sched_setscheduler,
        setattr = const libc::SYS_sched_setattr,
        prctl = const libc::SYS_prctl,
        seccomp = const libc::SYS_seccomp,
        noted = sym noted_call,
        futex = const libc::SYS_futex,
        wait = const FUTEX_WAIT,
        elsewhere = sym ELSEWHERE,
        taken = sym FUTEX,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "hint 34",
        "cmp x0, {futex}",
        "b.eq 2f",
        "cmp x0, {wait}",
        "b.eq 2f",
        // sched_setparam and sched_setscheduler.
        "sub x16, x0, {setparam}",
        "cmp x16, {setscheduler} - {setparam}",
        "b.ls 3f",
        "cmp x0, {setattr}",
        "b.eq 3f",
        "cmp x0, {prctl}",
        "b.eq 3f",
        "cmp x0, {seccomp}",
        "b.eq 3f",
        "adrp x16, {elsewhere}",
        "ldr x16, [x16, :lo12:{elsewhere}]",
        "br x16",
        "2:",
        "adrp x16, {taken}",
        "ldr x16, [x16, :lo12:{taken}]",
        "br x16",
        "3:",
        "b {noted}",
        ".cfi_endproc",
        setparam = const libc::SYS_sched_setparam,
        setscheduler = const libc::SYS_sched_setscheduler,
        setattr = const libc::SYS_sched_setattr,
        prctl = const libc::SYS_prctl,
        seccomp = const libc::SYS_seccomp,
        noted = sym noted_call,
        futex = const libc::SYS_futex,
        wait = const FUTEX_WAIT,
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
    let is_futex = number == libc::SYS_futex;
    if is_futex && refuses_wait(a as *const u32, b as c_int, c as u32, d as *const timespec) {
        return glibc::failed(libc::EAGAIN);
    }
    // SAFETY: the program's own call.
    let call = || unsafe { glibc::system_call(number, a, b, c, d, e, f) };
    if !waits(number, b) {
        return call();
    }
    let wait = Wait::begin(a as *const u32, Kind::Word, || 0);
    let result = call();
    wait.end(|| match glibc::errno_of(result) {
        None | Some(libc::EINTR) => Ended::Over,
        Some(libc::ETIMEDOUT) => Ended::TimedOut,
        Some(_) => Ended::Not,
    });
    result
}

/// The system call of Linux 6.7.
const FUTEX_WAIT: c_long = 455;

/// Whether a call waits on the word at its first argument, and its second says so.
#[inline(always)]
fn waits(number: c_long, operation: usize) -> bool {
    let operation = operation as i32 & libc::FUTEX_CMD_MASK;
    let is_wait = matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET);
    cfg!(feature = "recording") && (number == FUTEX_WAIT || (number == libc::SYS_futex && is_wait))
}

/// A call that may give a thread a priority, or enter a sandbox. Entered like `futex_call`.
unsafe extern "C-unwind" fn noted_call(
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
        let call = || glibc::system_call(number, a, b, c, d, e, f);
        let result = sandbox::through(number, a, call);
        priority::note_call(number, b, result);
        result
    }
}
