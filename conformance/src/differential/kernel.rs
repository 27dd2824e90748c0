//! The kernel, with which the others are compared.

use super::{Futex, FutexCall, WaitvCall};

/// The system calls themselves.
#[derive(Debug)]
pub struct Kernel;

impl Futex for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    unsafe fn futex(&self, call: FutexCall) -> Result<i64, i32> {
        let FutexCall { uaddr, op, val, timeout_or_val2, uaddr2, val3 } = call;
        // SAFETY: by the caller's promise.
        errno_of(unsafe {
            libc::syscall(libc::SYS_futex, uaddr, op, val, timeout_or_val2, uaddr2, val3)
        })
    }

    unsafe fn waitv(&self, call: WaitvCall) -> Result<i64, i32> {
        let WaitvCall { waiters, count, flags, timeout, clock } = call;
        // SAFETY: by the caller's promise.
        errno_of(unsafe {
            libc::syscall(libc::SYS_futex_waitv, waiters, count, flags, timeout, clock)
        })
    }
}

/// Copies what is readable of the values at `from`. Returns how many values that are.
pub(super) fn copy_readable<T: Copy>(from: *const T, to: &mut [T]) -> usize {
    let iov_len = size_of_val(to);
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len };
    let remote = libc::iovec { iov_base: from.cast_mut().cast(), iov_len };
    // SAFETY: the kernel copies into `to` what can be read; callers use integers of C's.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    usize::try_from(copied).unwrap_or(0) / size_of::<T>()
}

fn errno_of(result: libc::c_long) -> Result<i64, i32> {
    match result {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        value => Ok(value),
    }
}
