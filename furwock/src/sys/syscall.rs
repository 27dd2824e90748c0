//! System calls without libc's `syscall`: that one writes errno, which callers beneath pthread
//! functions may not change, and the preload replaces it.

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
use super::symbol::versioned;

/// A system call that failed, by its errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

/// Makes system call `number`. Leaves errno as it is.
///
/// # Safety
/// Whatever the call does with its arguments must be sound.
#[inline]
pub(crate) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: by this function's contract.
    let result = unsafe { enter(number as usize, arguments) };
    // The kernel's last page of values are errnos, negated.
    if result > -4096isize as usize {
        return Err(Errno(result.wrapping_neg() as i32));
    }
    Ok(result)
}

/// The same for a call that a signal handler may leave for good by an unwind: it is made in a
/// function that the compiler can't see into, so that callers expect an unwind. A frame that made
/// the call in its own code couldn't be unwound if it had anything to drop.
///
/// # Safety
/// Whatever the call does with its arguments must be sound.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline]
pub(crate) unsafe fn syscall_that_may_be_left(
    number: libc::c_long,
    arguments: &[usize; 6],
) -> Result<usize, Errno> {
    unsafe extern "C-unwind" {
        #[link_name = versioned!("syscall")]
        fn furwock_syscall(number: libc::c_long, arguments: &[usize; 6]) -> usize;
    }
    // SAFETY: by this function's contract.
    let result = unsafe { furwock_syscall(number, arguments) };
    if result > -4096isize as usize {
        return Err(Errno(result.wrapping_neg() as i32));
    }
    Ok(result)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
core::arch::global_asm!(
    concat!(".pushsection .text.", versioned!("syscall"), ",\"ax\",@progbits"),
    concat!(".hidden ", versioned!("syscall")),
    concat!(".globl ", versioned!("syscall")),
    concat!(".type ", versioned!("syscall"), ", @function"),
    ".p2align 4",
    concat!(versioned!("syscall"), ":"),
    ".cfi_startproc",
    "endbr64",
    "mov rax, rdi",
    "mov rdi, qword ptr [rsi]",
    "mov rdx, qword ptr [rsi + 16]",
    "mov r10, qword ptr [rsi + 24]",
    "mov r8, qword ptr [rsi + 32]",
    "mov r9, qword ptr [rsi + 40]",
    "mov rsi, qword ptr [rsi + 8]",
    "syscall",
    "ret",
    ".cfi_endproc",
    concat!(".size ", versioned!("syscall"), ", . - ", versioned!("syscall")),
    ".popsection",
);

#[cfg(all(target_arch = "aarch64", not(miri)))]
core::arch::global_asm!(
    concat!(".pushsection .text.", versioned!("syscall"), ",\"ax\",@progbits"),
    concat!(".hidden ", versioned!("syscall")),
    concat!(".globl ", versioned!("syscall")),
    concat!(".type ", versioned!("syscall"), ", @function"),
    ".p2align 4",
    concat!(versioned!("syscall"), ":"),
    ".cfi_startproc",
    // A landing pad for indirect calls.
    "hint 34",
    "mov x8, x0",
    "mov x9, x1",
    "ldp x0, x1, [x9]",
    "ldp x2, x3, [x9, 16]",
    "ldp x4, x5, [x9, 32]",
    "svc 0",
    "ret",
    ".cfi_endproc",
    concat!(".size ", versioned!("syscall"), ", . - ", versioned!("syscall")),
    ".popsection",
);

/// The same.
///
/// # Safety
/// Whatever the call does with its arguments must be sound.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[inline]
pub(crate) unsafe fn syscall_that_may_be_left(
    number: libc::c_long,
    arguments: &[usize; 6],
) -> Result<usize, Errno> {
    // SAFETY: by this function's contract.
    unsafe { syscall(number, *arguments) }
}

/// Miri has only those of libc's system calls that it emulates: futexes and ids. Its kernel doesn't
/// know others.
#[cfg(miri)]
unsafe fn enter(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> usize {
    use core::ptr::with_exposed_provenance as at;
    match number as libc::c_long {
        libc::SYS_futex => {}
        // SAFETY: both always succeed, no arguments.
        libc::SYS_gettid => return unsafe { libc::gettid() } as usize,
        libc::SYS_getpid => return std::process::id() as usize,
        _ => return -(libc::ENOSYS as isize) as usize,
    }
    let (word, time, other) = (at::<u32>(a), at::<libc::timespec>(d), at::<u32>(e));
    // SAFETY: by this function's contract.
    let result =
        unsafe { libc::syscall(libc::SYS_futex, word, b as i32, c as i32, time, other, f as u32) };
    match result {
        // SAFETY: this thread's own errno.
        -1 => -(unsafe { *libc::__errno_location() } as isize) as usize,
        result => result as usize,
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn enter(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> usize {
    let result;
    // SAFETY: the kernel's calling convention: it preserves all but rax, rcx and r11.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline]
unsafe fn enter(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> usize {
    let result;
    // SAFETY: the kernel's calling convention: it preserves all but x0.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack),
        );
    }
    result
}

#[cfg(all(target_arch = "riscv64", not(miri)))]
#[inline]
unsafe fn enter(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> usize {
    let result;
    // SAFETY: the kernel's calling convention: it preserves all but a0.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a7") number,
            inlateout("a0") a => result,
            in("a1") b,
            in("a2") c,
            in("a3") d,
            in("a4") e,
            in("a5") f,
            options(nostack),
        );
    }
    result
}

#[cfg(not(any(miri, target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
unsafe fn enter(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> usize {
    // SAFETY: by the caller's contract; errno is this thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let result = libc::syscall(number as libc::c_long, a, b, c, d, e, f);
        if result != -1 {
            return result as usize;
        }
        (core::mem::replace(&mut *errno, saved) as isize).wrapping_neg() as usize
    }
}
