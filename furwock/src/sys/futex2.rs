//! `futex_waitv` (Linux 5.16) and the futex2 calls (Linux 6.7): futex(2)'s operations with flags
//! for each word.

use super::clock::{Clock, Deadline};
use super::syscall::{Errno, syscall, syscall_that_may_be_left};
use core::sync::atomic::AtomicU32;

/// `FUTEX2_SIZE_U32`: the only width that any kernel knows so far.
pub(crate) const SIZE_U32: u32 = 0x02;
/// `FUTEX2_NUMA`: the word is followed by the number of a memory node, by which the kernel queues.
pub(crate) const NUMA: u32 = 0x04;
/// `FUTEX2_MPOL`: the memory policy of the word's mapping names the node.
pub(crate) const MPOL: u32 = 0x08;
/// `FUTEX2_PRIVATE`.
pub(crate) const PRIVATE: u32 = 0x80;

/// The most words one `futex_waitv` takes.
pub(crate) const WAITV_MOST: usize = 128;

/// `struct futex_waitv`: one word of a wait on many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Waitv {
    /// What the word should hold.
    pub val: u64,
    /// The word's address.
    pub uaddr: u64,
    /// Its size (2 for 32 bits), and 128 for private words.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

impl Waitv {
    pub(crate) fn new(address: *const u32, expected: u32, flags: u32) -> Self {
        let uaddr = address.expose_provenance() as u64;
        Self { val: expected.into(), uaddr, flags, reserved: 0 }
    }
}

/// A system call that a kernel may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Waitv,
    Wake,
    Wait,
    Requeue,
}

impl Call {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Call::Waitv => "futex_waitv",
            Call::Wake => "futex_wake",
            Call::Wait => "futex_wait",
            Call::Requeue => "futex_requeue",
        }
    }

    /// The first kernel that has it.
    pub(crate) fn since(self) -> &'static str {
        match self {
            Call::Waitv => "Linux 5.16",
            Call::Wake | Call::Wait | Call::Requeue => "Linux 6.7",
        }
    }

    /// The same distance from `futex_waitv` on every architecture.
    fn number(self) -> libc::c_long {
        match self {
            Call::Waitv => libc::SYS_futex_waitv,
            Call::Wake => libc::SYS_futex_waitv + 5,
            Call::Wait => libc::SYS_futex_waitv + 6,
            Call::Requeue => libc::SYS_futex_waitv + 7,
        }
    }
}

/// Why a call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The kernel doesn't have it, or a filter (seccomp) forbids it.
    Absent,
    Errno(Errno),
}

impl Failure {
    fn of(errno: Errno) -> Self {
        match errno {
            // None of these calls fails with EPERM by itself: that is a filter's answer.
            Errno(libc::ENOSYS | libc::EPERM) => Failure::Absent,
            other => Failure::Errno(other),
        }
    }
}

/// Always asks the kernel: filters are per thread, so that a call that one thread lacks another may
/// have.
///
/// # Safety
/// Addresses among the arguments must be of live memory, and a word with `NUMA` must be followed by
/// a node that the kernel may write.
unsafe fn call(call: Call, arguments: [usize; 6]) -> Result<usize, Failure> {
    // SAFETY: by this function's contract; beyond it the calls only read.
    unsafe { syscall(call.number(), arguments) }.map_err(Failure::of)
}

fn timeout(deadline: Option<&Deadline>) -> (usize, usize) {
    deadline.map_or((0, 0), |deadline| {
        let clock = match deadline.clock() {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Realtime => libc::CLOCK_REALTIME,
        };
        (core::ptr::from_ref(deadline.timespec()).expose_provenance(), clock as usize)
    })
}

/// `futex_waitv(waiters, nr, 0, timeout, clockid)`: the index of a word that was woken.
///
/// # Safety
/// As `call`, for each word.
pub(crate) unsafe fn waitv(words: &[Waitv], deadline: Option<&Deadline>) -> Result<usize, Failure> {
    let (timeout, clock) = timeout(deadline);
    let address = words.as_ptr().expose_provenance();
    // SAFETY: the array and the deadline outlive the call; the words by this function's contract.
    unsafe {
        let arguments = [address, words.len(), 0, timeout, clock, 0];
        syscall_that_may_be_left(Call::Waitv.number(), &arguments).map_err(Failure::of)
    }
}

/// `futex_wake(uaddr, mask, nr, flags)`: how many were woken.
///
/// # Safety
/// As `call`.
pub(crate) unsafe fn wake(
    word: *const u32,
    bitset: u32,
    count: u32,
    flags: u32,
) -> Result<usize, Failure> {
    let arguments =
        [word.expose_provenance(), bitset as usize, count as usize, flags as usize, 0, 0];
    // SAFETY: by this function's contract.
    unsafe { call(Call::Wake, arguments) }
}

/// `futex_wait(uaddr, val, mask, flags, timeout, clockid)`.
///
/// # Safety
/// As `call`.
pub(crate) unsafe fn wait(
    word: *const u32,
    expected: u32,
    bitset: u32,
    flags: u32,
    deadline: Option<&Deadline>,
) -> Result<usize, Failure> {
    let (timeout, clock) = timeout(deadline);
    let word = word.expose_provenance();
    let arguments = [word, expected as usize, bitset as usize, flags as usize, timeout, clock];
    // SAFETY: the deadline outlives the call; the word by this function's contract.
    unsafe { call(Call::Wait, arguments) }
}

/// `futex_requeue(waiters, 0, nr_wake, nr_requeue)`: how many were woken and moved together. Checks
/// the first word's value.
///
/// # Safety
/// As `call`, for both words.
pub(crate) unsafe fn requeue(
    from_to: &[Waitv; 2],
    wake: u32,
    relocate: u32,
) -> Result<usize, Failure> {
    let address = from_to.as_ptr().expose_provenance();
    // SAFETY: the array outlives the call; the words by this function's contract.
    unsafe { call(Call::Requeue, [address, 0, wake as usize, relocate as usize, 0, 0]) }
}

/// Whether the kernel knows `flags` (Linux 6.16 has `NUMA` and `MPOL`): asks with a wake of a word
/// without waiters. A kernel without that call is older.
pub(crate) fn knows(flags: u32) -> bool {
    #[repr(C, align(8))]
    struct Pair(AtomicU32, AtomicU32);
    let pair = Pair(AtomicU32::new(0), AtomicU32::new(u32::MAX));
    let word = core::ptr::from_ref(&pair).cast();
    // SAFETY: the word is followed by a node of this function's own.
    let answer = unsafe { wake(word, u32::MAX, 1, flags | SIZE_U32 | PRIVATE) };
    !matches!(answer, Err(Failure::Absent | Failure::Errno(Errno(libc::EINVAL))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_filter_answers_is_absence() {
        for errno in [libc::ENOSYS, libc::EPERM] {
            assert_eq!(Failure::of(Errno(errno)), Failure::Absent);
        }
        let full = Errno(libc::ENOMEM);
        assert_eq!(Failure::of(full), Failure::Errno(full));
    }

    #[test]
    fn a_waitv_is_laid_out_as_the_kernel_reads_it() {
        assert_eq!(size_of::<Waitv>(), 24);
        assert_eq!(core::mem::offset_of!(Waitv, uaddr), 8);
        assert_eq!(core::mem::offset_of!(Waitv, flags), 16);
    }
}
