//! futex(2) and futex_waitv(2): the kernel's signatures, results and errno.

use core::ffi::{c_int, c_long, c_uint};
use engine::linux::{self, Waitv};
use libc::{clockid_t, timespec};

/// futex(2), with its arguments, results and errno: `furwock_futex(...)` replaces
/// `syscall(SYS_futex, ...)`. Returns -1 and sets errno if it fails.
///
/// Operations with FUTEX_PRIVATE_FLAG run on furwock's own wait queues, which they share with all
/// other calls of this header on the same words; they don't reach threads that wait by the system
/// call itself. Everything else is passed on to the kernel.
///
/// The words need not exist: the result is EFAULT, as from the kernel. `timeout_or_val2` is a
/// number cast to a pointer where the operation takes one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_futex(
    uaddr: *mut u32,
    op: c_int,
    val: u32,
    timeout_or_val2: *const timespec,
    uaddr2: *mut u32,
    val3: u32,
) -> c_long {
    // SAFETY: the caller's call of futex(2).
    as_system_call(unsafe { linux::futex(uaddr, op, val, timeout_or_val2, uaddr2, val3) })
}

/// futex_waitv(2): waits until woken at any of `count` words, and returns its index; or returns -1
/// and sets errno. `flags` has to be 0, `timeout` is a point in time on `clock` or NULL.
///
/// If all words are private (FUTEX2_PRIVATE) there may be any number of them, of 8, 16, 32 and 64
/// bits (FUTEX2_SIZE_U8 to _U64), on any kernel. With a shared word among them the call goes to the
/// kernel, with its limits: 128 words, of 32 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_waitv(
    waiters: *const Waitv,
    count: c_uint,
    flags: c_uint,
    timeout: *const timespec,
    clock: clockid_t,
) -> c_long {
    // SAFETY: the caller's call of futex_waitv(2).
    as_system_call(unsafe { linux::waitv(waiters, count, flags, timeout, clock) })
}

#[inline]
fn as_system_call(result: Result<usize, i32>) -> c_long {
    match result {
        Ok(result) => result as c_long,
        Err(errno) => {
            // SAFETY: the calling thread's own.
            unsafe { *libc::__errno_location() = errno };
            -1
        }
    }
}
