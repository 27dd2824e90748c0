//! How an operation on a PI lock can fail.

use crate::sys::syscall::Errno;
use crate::sys::unsupported::Unsupported;
use core::fmt;

/// Why a PI lock was not taken or released, or a wait not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PiError {
    /// The caller would wait for itself: it holds the lock already, or the owner waits, through
    /// other PI locks, for one that the caller holds.
    Deadlock,
    /// The owner ended without unlocking while no thread waited in the kernel. The lock stays held
    /// for ever, though no thread holds it: it is not robust.
    OwnerGone,
    /// The deadline passed.
    TimedOut,
    /// The caller doesn't hold the lock that it wants to release.
    NotOwner,
    /// Others wait on the condition variable with another mutex.
    OtherMutex,
    /// The word no longer held the expected value.
    Mismatch,
    /// The kernel has no memory for what it keeps of a contended lock.
    NoMemory,
    /// The word contradicts what the kernel knows of it: a thread wrote to it, or waits on it as if
    /// it were an ordinary word.
    Corrupt,
    /// The kernel lacks an operation.
    Unsupported(Unsupported),
}

impl PiError {
    /// What `errno` means from an operation named `call`, there since Linux `since`.
    pub(super) fn of(errno: Errno, call: &'static str, since: &'static str) -> Self {
        match errno.0 {
            libc::EDEADLK => PiError::Deadlock,
            libc::ESRCH => PiError::OwnerGone,
            libc::ETIMEDOUT => PiError::TimedOut,
            libc::ENOMEM => PiError::NoMemory,
            libc::EAGAIN => PiError::Mismatch,
            libc::ENOSYS => PiError::Unsupported(Unsupported { call, since }),
            // EINVAL; EFAULT; EPERM where the word names a thread of the kernel.
            _ => PiError::Corrupt,
        }
    }
}

impl fmt::Display for PiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PiError::Deadlock => "the caller would wait for itself",
            PiError::OwnerGone => "the lock's owner ended without unlocking",
            PiError::TimedOut => "the deadline passed",
            PiError::NotOwner => "the caller doesn't hold the lock",
            PiError::OtherMutex => "others wait on the condition variable with another mutex",
            PiError::Mismatch => "the word no longer held the expected value",
            PiError::NoMemory => "the kernel is out of memory",
            PiError::Corrupt => "the lock's word contradicts the kernel's knowledge of it",
            PiError::Unsupported(unsupported) => return unsupported.fmt(f),
        })
    }
}

impl std::error::Error for PiError {}

impl From<Unsupported> for PiError {
    fn from(unsupported: Unsupported) -> Self {
        PiError::Unsupported(unsupported)
    }
}
