//! futex(2) and futex_waitv(2) by system call instructions of the program itself.

use std::sync::atomic::AtomicU32;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Wait, WaitFlags};

use super::{Kernel, KernelWords, ManyWords, Words};

/// The kernel's limit for one wait.
const WAITV_MAX: usize = 128;

/// Returns at once if the word isn't `value`, and may return spuriously: callers look again.
#[inline]
pub fn wait(word: &AtomicU32, value: u32) {
    Kernel::wait(word, value);
}

#[inline]
pub fn wake(word: &AtomicU32, count: usize) {
    Kernel::wake(word, count);
}

/// The kernel counts in `int`s.
pub fn clamped(count: usize) -> u32 {
    i32::try_from(count).unwrap_or(i32::MAX).unsigned_abs()
}

/// Linux 5.16 and later.
pub fn has_waitv() -> bool {
    futex::waitv(&[], futex::WaitvFlags::empty(), None, futex::ClockId::Monotonic)
        != Err(Errno::NOSYS)
}

pub fn too_many(words: usize) -> Option<String> {
    if words > WAITV_MAX {
        Some(format!("futex_waitv takes {WAITV_MAX} words at most"))
    } else if !has_waitv() {
        Some("futex_waitv needs Linux 5.16".to_owned())
    } else {
        None
    }
}

pub fn entries(words: &[AtomicU32]) -> Vec<Wait> {
    let entry = |word: &AtomicU32| {
        let mut entry = Wait::new();
        entry.val = 0;
        entry.uaddr = futex::WaitPtr::new(word.as_ptr().cast());
        entry.flags = WaitFlags::PRIVATE | WaitFlags::SIZE_U32;
        entry
    };
    words.iter().map(entry).collect()
}

impl<const SHARED: bool> KernelWords<SHARED> {
    const FLAGS: Flags = if SHARED { Flags::empty() } else { Flags::PRIVATE };
}

impl<const SHARED: bool> Words for KernelWords<SHARED> {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        // Whatever else it returns, callers look again.
        futex::wait(word, Self::FLAGS, value, None) != Err(Errno::AGAIN)
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        futex::wake(word, Self::FLAGS, clamped(count)).unwrap_or(0)
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        futex::requeue(from, Self::FLAGS, 0, clamped(count), to).unwrap_or(0)
    }
}

impl ManyWords for Kernel {
    type Waiter<'w> = Vec<Wait>;

    fn too_many(words: usize) -> Option<String> {
        too_many(words)
    }

    fn waiter(words: &[AtomicU32]) -> Vec<Wait> {
        entries(words)
    }

    #[inline]
    fn wait_any(waiter: &mut Vec<Wait>) -> Option<usize> {
        futex::waitv(waiter, futex::WaitvFlags::empty(), None, futex::ClockId::Monotonic).ok()
    }
}
