//! eventfd(2): a descriptor that polls as readable once it has been written to.

use super::syscall::syscall;
use core::ffi::c_int;

/// A new one, closed on exec and never blocking. `Err` holds the errno.
pub(crate) fn create() -> Result<c_int, i32> {
    let flags = (libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) as usize;
    // SAFETY: no pointers.
    match unsafe { syscall(libc::SYS_eventfd2, [0, flags, 0, 0, 0, 0]) } {
        Ok(fd) => Ok(fd as c_int),
        Err(errno) => Err(errno.0),
    }
}

/// Makes it readable.
pub(crate) fn signal(fd: c_int) {
    let one = 1u64;
    let arguments = [fd as usize, core::ptr::from_ref(&one).expose_provenance(), 8, 0, 0, 0];
    // SAFETY: reads eight bytes. It fails only when the counter is full, and then it is readable.
    _ = unsafe { syscall(libc::SYS_write, arguments) };
}

/// Makes it unreadable again.
pub(crate) fn drain(fd: c_int) {
    let mut count = 0u64;
    let arguments = [fd as usize, (&raw mut count).expose_provenance(), 8, 0, 0, 0];
    // SAFETY: writes eight bytes. It fails only when there is nothing to drain.
    _ = unsafe { syscall(libc::SYS_read, arguments) };
}

/// Puts a new one in the place of `fd`, under the same number: for a forked child, whose `fd` is
/// its parent's, too. `Err` holds the errno.
pub(crate) fn renew(fd: c_int) -> Result<(), i32> {
    let new = create()?;
    let arguments = [new as usize, fd as usize, libc::O_CLOEXEC as usize, 0, 0, 0];
    // SAFETY: no pointers; the caller owns `fd`.
    let renewed = unsafe { syscall(libc::SYS_dup3, arguments) };
    close(new);
    renewed.map(|_| ()).map_err(|errno| errno.0)
}

pub(crate) fn close(fd: c_int) {
    // SAFETY: the caller owns the descriptor and gives it up.
    _ = unsafe { syscall(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}
