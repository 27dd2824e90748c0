//! Ends of the process that no destructor sees: `_exit` and `quick_exit`. What is recorded in the
//! end is that it has ended by itself, and when.

use super::{kernel, part};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

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
