//! The same on words that processes may share: by the kernel, since no process knows another's queues. The
//! words here are in memory of one process, and the operations don't say so.

use std::ptr;
use std::sync::atomic::AtomicU32;

use furwock::shared::{self, Waited};
use libc::{FUTEX_REQUEUE, FUTEX_WAIT, FUTEX_WAKE, SYS_futex};
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

use super::libc_call::is_mismatch;
use super::{Words, kernel::clamped};

/// The crate's `shared`.
pub struct FurwockShared;
/// futex(2), by an instruction of the program's own.
pub struct KernelShared;
/// futex(2), by libc's `syscall`: a preload passes it on.
pub struct LibcCallShared;

impl Words for FurwockShared {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        // Whatever else it returns, callers look again.
        !matches!(std::hint::black_box(shared::wait(word, value, None)), Ok(Waited::Mismatch))
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        shared::wake(word, count).unwrap_or(0)
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        shared::requeue(from, to, 0, count).map_or(0, |requeued| requeued.moved)
    }
}

impl Words for KernelShared {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        futex::wait(word, Flags::empty(), value, None) != Err(Errno::AGAIN)
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        futex::wake(word, Flags::empty(), clamped(count)).unwrap_or(0)
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        futex::requeue(from, Flags::empty(), 0, clamped(count), to).unwrap_or(0)
    }
}

fn counted(result: libc::c_long) -> usize {
    usize::try_from(result).unwrap_or(0)
}

impl Words for LibcCallShared {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        let timeout = ptr::null::<libc::timespec>();
        // SAFETY: a live word; no timeout.
        let woken = unsafe { libc::syscall(SYS_futex, word.as_ptr(), FUTEX_WAIT, value, timeout) };
        woken == 0 || !is_mismatch()
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        // SAFETY: a live word.
        counted(unsafe { libc::syscall(SYS_futex, word.as_ptr(), FUTEX_WAKE, clamped(count)) })
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        let (from, to, count) = (from.as_ptr(), to.as_ptr(), clamped(count) as usize);
        // SAFETY: live words.
        counted(unsafe { libc::syscall(SYS_futex, from, FUTEX_REQUEUE, 0, count, to) })
    }
}
