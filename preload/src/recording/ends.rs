//! Ends of the process that no destructor sees: `_exit`, also by number, and `quick_exit`. What is
//! recorded in the end is that it has ended by itself, and when.

use super::{kernel, part};
use crate::glibc;
use core::ffi::{c_int, c_long, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn __cxa_at_quick_exit(call: extern "C" fn(*mut c_void), library: *mut c_void) -> c_int;
}

/// At the start: what is registered first is called last.
pub(super) fn start() {
    // SAFETY: a function of the right type, in a library that is never unloaded. (Without memory
    // the end isn't seen.)
    _ = unsafe { __cxa_at_quick_exit(quick_exit, null_mut()) };
}

extern "C" fn quick_exit(_: *mut c_void) {
    part::end();
}

/// POSIX `_exit`. May be called from a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    part::end();
    loop {
        // SAFETY: ends the process.
        _ = unsafe {
            kernel::programs_call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0])
        };
    }
}

/// C's name of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: the same.
    unsafe { _exit(status) }
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
        "cmp rdi, {exit_group}",
        "je 2f",
        "jmp qword ptr [rip + {glibc}]",
        "2:",
        "jmp {ends}",
        ".cfi_endproc",
        exit_group = const libc::SYS_exit_group,
        glibc = sym GLIBC,
        ends = sym ends_by_number,
    )
}

/// Entered like `futex_call`.
unsafe extern "C-unwind" fn ends_by_number(_: c_long, status: usize) -> ! {
    // SAFETY: the program's own call.
    unsafe { _exit(status as c_int) }
}
