//! System calls that leave errno alone.

use super::sandbox;
use core::arch::asm;

/// A system call of the recorder's; what the kernel returns, or the errno. Arguments that it hasn't
/// are 0. Once the program has entered a sandbox, most are refused here.
///
/// # Safety
/// As the call has it.
pub(super) unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize, i32> {
    if sandbox::forbids(number) {
        return Err(libc::EPERM);
    }
    // SAFETY: by this function's contract.
    unsafe { programs_call(number, arguments) }
}

/// The same for the program.
///
/// # Safety
/// As the call has it.
pub(super) unsafe fn programs_call(number: i64, arguments: [usize; 6]) -> Result<usize, i32> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: by this function's contract. The kernel changes rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) { Err(-result as i32) } else { Ok(result as usize) }
}

/// A file that is closed in the end.
pub(super) struct Descriptor(pub(super) usize);

impl Descriptor {
    /// Opens the file at `path`, which ends with NUL.
    pub(super) fn open(path: &[u8], flags: i32) -> Option<Self> {
        debug_assert!(path.last() == Some(&0));
        let at = libc::AT_FDCWD as isize as usize;
        let flags = (flags | libc::O_CLOEXEC) as usize;
        // SAFETY: a path that ends with NUL.
        unsafe { call(libc::SYS_openat, [at, path.as_ptr().expose_provenance(), flags, 0, 0, 0]) }
            .ok()
            .map(Self)
    }

    /// Reads from `offset` on. 0 where that fails.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: usize) -> usize {
        let (to, length) = (buffer.as_mut_ptr().expose_provenance(), buffer.len());
        // SAFETY: writes into the buffer.
        unsafe { call(libc::SYS_pread64, [self.0, to, length, offset, 0, 0]) }.unwrap_or(0)
    }

    /// Gives the file memory for that range. A limit of the process or the file system must leave
    /// room: the kernel raises a signal at the first.
    /// What is there stays.
    pub(super) fn allocate(&self, offset: usize, length: usize) -> Allocated {
        // SAFETY: the file's own range.
        match unsafe { call(libc::SYS_fallocate, [self.0, 0, offset, length, 0, 0]) } {
            Ok(_) => Allocated::Yes,
            Err(libc::EOPNOTSUPP | libc::ENOSYS) => Allocated::Unknown,
            Err(_) => Allocated::No,
        }
    }

    /// The same by writing zeroes, where the file system knows no other way. The range is new, and
    /// no other thread writes there.
    pub(super) fn fill(&self, offset: usize, length: usize) -> Allocated {
        const ZEROES: [u8; 4096] = [0; 4096];
        let mut done = 0;
        while done < length {
            let next = (length - done).min(ZEROES.len());
            let from = ZEROES.as_ptr().expose_provenance();
            // SAFETY: reads the zeroes.
            match unsafe { call(libc::SYS_pwrite64, [self.0, from, next, offset + done, 0, 0]) } {
                Ok(written) if written > 0 => done += written,
                _ => return Allocated::No,
            }
        }
        Allocated::Yes
    }
}

/// Whether a range has memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allocated {
    Yes,
    No,
    /// The file system can't say.
    Unknown,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: opened above, and used no more.
        _ = unsafe { call(libc::SYS_close, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// Maps `length` bytes: of `file` from an offset on, shared, or private and empty; at an address,
/// in place of what is mapped there, or anywhere.
pub(super) fn map(
    at: Option<usize>,
    length: usize,
    file: Option<(&Descriptor, usize)>,
) -> Option<usize> {
    let fixed = if at.is_some() { libc::MAP_FIXED } else { 0 };
    let (flags, descriptor, offset) = match file {
        Some((file, offset)) => (libc::MAP_SHARED, file.0, offset),
        None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, usize::MAX, 0),
    };
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let arguments = [at.unwrap_or(0), length, access, (flags | fixed) as usize, descriptor, offset];
    // SAFETY: replaces nothing, or what the caller says.
    unsafe { call(libc::SYS_mmap, arguments) }.ok()
}

/// Has every child find these pages empty, however it is made. Older kernels refuse.
pub(super) fn wipe_on_fork(at: usize, length: usize) {
    const WIPE_ON_FORK: usize = 18;
    // SAFETY: changes what children see of pages that only the caller uses.
    _ = unsafe { call(libc::SYS_madvise, [at, length, WIPE_ON_FORK, 0, 0, 0]) };
}

/// Ends a mapping.
pub(super) fn unmap(at: usize, length: usize) {
    // SAFETY: the caller's own mapping.
    _ = unsafe { call(libc::SYS_munmap, [at, length, 0, 0, 0, 0]) };
}

/// The process's id and the calling thread's, which a child has its own of, however it was made.
pub(super) fn ids() -> (u32, u32) {
    // SAFETY: no arguments.
    let [process, thread] = [libc::SYS_getpid, libc::SYS_gettid]
        .map(|number| unsafe { call(number, [0; 6]) }.unwrap_or(0) as u32);
    (process, thread)
}

/// Whether the process has such a thread.
pub(super) fn has_thread(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 only asks.
    let answer = unsafe { call(libc::SYS_tgkill, [process as usize, thread as usize, 0, 0, 0, 0]) };
    answer != Err(libc::ESRCH)
}
