//! What the libraries have in place of libgcc_s, which unwinds the stack.
//!
//! Rust's standard library asks for it, for panics and their backtraces. Here a panic is a bug that
//! ends the process, no function may be cancelled asynchronously, and none calls the program's
//! code: nothing unwinds through this library. A system for C programs may lack libgcc_s, and
//! musl's a static one: `capi/link-args` leads its names to these functions.

use core::ffi::c_int;
use core::mem::ManuallyDrop;
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;

/// For what begins to unwind: a panic, whose message has been printed, and a backtrace. The result
/// is `_URC_END_OF_STACK`: Rust says that it couldn't throw the panic, and ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_cannot_unwind() -> c_int {
    5
}

/// For what an unwinder asks of a frame: one that is none of this library's has reached it.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_is_unwound() -> ! {
    // SAFETY: it isn't closed. std's own stderr may be locked by this thread.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) });
    let _ = stderr.write_all(b"furwock: nothing may unwind through libfurwock.so\n");
    std::process::abort()
}
