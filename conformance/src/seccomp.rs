//! Filters of system calls, which play a kernel or a sandbox that lacks some.

use libc::sock_filter;
use std::io;

/// Where the filter finds the call's number.
pub const NUMBER: u32 = 0;

/// Where the filter finds the low half of an argument, counted from 0.
pub const fn argument(index: u32) -> u32 {
    16 + 8 * index + if cfg!(target_endian = "little") { 0 } else { 4 }
}

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

/// Loads the 32 bits at `offset`.
pub const fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Clears the bits of the loaded value that `mask` doesn't have.
pub const fn mask(mask: u32) -> sock_filter {
    instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask, 0, 0)
}

/// Skips `yes` instructions if the loaded value compares to `value` by `comparison` (`BPF_JEQ`,
/// `BPF_JGE`, `BPF_JGT`, or `BPF_JSET` for a common bit), and `no` instructions otherwise.
pub const fn jump(comparison: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_K | comparison, value, yes, no)
}

const fn verdict(value: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0)
}

/// The call fails with `errno`.
pub const fn refuse(errno: i32) -> sock_filter {
    verdict(libc::SECCOMP_RET_ERRNO | errno as u32)
}

/// The call raises `SIGSYS`.
pub const fn trap() -> sock_filter {
    verdict(libc::SECCOMP_RET_TRAP)
}

/// The kernel makes the call.
pub const fn allow() -> sock_filter {
    verdict(libc::SECCOMP_RET_ALLOW)
}

/// Puts the calling thread, and all that it starts, under `filter` for good. A forked child may
/// call it.
///
/// # Errors
/// The kernel refuses the filter.
pub fn live_under(filter: &[sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) != 0
    };
    if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
}
