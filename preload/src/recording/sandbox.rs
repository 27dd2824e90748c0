//! Sandboxes that the program enters. A filter of system calls may end a program at one that it
//! doesn't know, so the recorder makes its own before, and afterwards none but those that furwock
//! makes on the way to a lock anyway (docs/sandboxes.md).
//!
//! It sees `prctl`, and `syscall` by number. A filter that was there when the program began, or
//! that is set by an instruction of the program's own, isn't known here.

use super::kernel;
use super::{modules, part, thread};
use crate::{glibc, loaded};
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static ENTERED: AtomicBool = AtomicBool::new(false);

/// Whether the recorder is to leave that call out.
#[inline]
pub(super) fn forbids(number: c_long) -> bool {
    ENTERED.load(Ordering::Relaxed) && !is_allowed(number)
}

/// Those of the recorder's calls that furwock makes without it, too.
fn is_allowed(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_getpid | libc::SYS_gettid | libc::SYS_tgkill | libc::SYS_clock_gettime
    )
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
fn through(number: c_long, first: usize, call: impl FnOnce() -> c_long) -> c_long {
    let was = ENTERED.load(Ordering::Relaxed);
    if !enters(number, first) || was {
        return call();
    }
    prepare();
    enter(true);
    let result = call();
    if result < 0 {
        enter(false);
    }
    result
}

fn enter(is_there: bool) {
    ENTERED.store(is_there, Ordering::Relaxed);
    loaded::may_ask_kernel(!is_there);
}

/// Makes the calls that would be made later: for the part's memory, this thread's entry, and the
/// program's path.
fn prepare() {
    thread::record::<()>(|_| {
        if part::grow() {
            // SAFETY: the kernel has told where the program begins.
            modules::note(unsafe { libc::getauxval(libc::AT_ENTRY) } as usize);
        }
        None
    });
}

/// Linux `prctl`, whose arguments glibc's passes on as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    let arguments = [option as usize, a, b, c, d, 0];
    // SAFETY: the program's own call.
    let call = || match unsafe { kernel::programs_call(libc::SYS_prctl, arguments) } {
        Ok(result) => result as c_long,
        Err(errno) => glibc::failed(errno),
    };
    through(libc::SYS_prctl, option as usize, call) as c_int
}

/// glibc's `syscall`.
static GLIBC: AtomicPtr<c_void> = AtomicPtr::new(glibc::system_call as *mut c_void);

/// Where `syscall` goes instead of `glibc`, its function in glibc.
pub(crate) fn before_glibc(glibc: *mut c_void) -> *mut c_void {
    GLIBC.store(glibc, Ordering::Release);
    by_number as *mut c_void
}

/// Entered by a jump from `syscall`. Every other number goes on to glibc by another.
#[unsafe(naked)]
unsafe extern "C-unwind" fn by_number(number: c_long) -> c_long {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {prctl}",
        "je 2f",
        "cmp rdi, {seccomp}",
        "je 2f",
        "cmp rdi, {exit_group}",
        "je 2f",
        "jmp qword ptr [rip + {glibc}]",
        "2:",
        "jmp {noted}",
        ".cfi_endproc",
        prctl = const libc::SYS_prctl,
        seccomp = const libc::SYS_seccomp,
        exit_group = const libc::SYS_exit_group,
        glibc = sym GLIBC,
        noted = sym noted,
    )
}

/// Entered like `futex_call`.
unsafe extern "C-unwind" fn noted(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_exit_group {
        part::end();
    }
    // SAFETY: the program's own call.
    through(number, a, || unsafe { glibc::system_call(number, a, b, c, d, e, f) })
}
