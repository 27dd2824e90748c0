//! The same calls by libc's `syscall`, as unmodified programs make them.

use std::ptr;
use std::sync::atomic::AtomicU32;

use libc::{FUTEX_PRIVATE_FLAG, FUTEX_REQUEUE, FUTEX_WAIT, FUTEX_WAKE, SYS_futex, SYS_futex_waitv};
use rustix::thread::futex::Wait;

use super::{LibcCall, LibcWords, ManyWords, Words, kernel};

fn counted(result: libc::c_long) -> usize {
    usize::try_from(result).unwrap_or(0)
}

impl<const SHARED: bool> LibcWords<SHARED> {
    const FLAG: i32 = if SHARED { 0 } else { FUTEX_PRIVATE_FLAG };
}

impl<const SHARED: bool> Words for LibcWords<SHARED> {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        let timeout = ptr::null::<libc::timespec>();
        let operation = FUTEX_WAIT | Self::FLAG;
        // SAFETY: a live word; no timeout.
        let woken = unsafe { libc::syscall(SYS_futex, word.as_ptr(), operation, value, timeout) };
        let failed = || std::io::Error::last_os_error().raw_os_error();
        woken == 0 || failed() != Some(libc::EAGAIN)
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        let operation = FUTEX_WAKE | Self::FLAG;
        let count = kernel::clamped(count);
        // SAFETY: a live word.
        counted(unsafe { libc::syscall(SYS_futex, word.as_ptr(), operation, count) })
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        let operation = FUTEX_REQUEUE | Self::FLAG;
        let (from, to, count) = (from.as_ptr(), to.as_ptr(), kernel::clamped(count) as usize);
        // SAFETY: live words.
        counted(unsafe { libc::syscall(SYS_futex, from, operation, 0, count, to) })
    }
}

impl ManyWords for LibcCall {
    type Waiter<'w> = Vec<Wait>;

    fn too_many(words: usize) -> Option<String> {
        kernel::too_many(words)
    }

    fn waiter(words: &[AtomicU32]) -> Vec<Wait> {
        kernel::entries(words)
    }

    #[inline]
    fn wait_any(waiter: &mut Vec<Wait>) -> Option<usize> {
        let timeout = ptr::null::<libc::timespec>();
        let (entries, count) = (waiter.as_ptr(), waiter.len());
        // SAFETY: as many entries, of live words; no timeout.
        let at = unsafe {
            libc::syscall(SYS_futex_waitv, entries, count, 0, timeout, libc::CLOCK_MONOTONIC)
        };
        usize::try_from(at).ok()
    }
}
