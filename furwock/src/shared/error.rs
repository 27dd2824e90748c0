//! Why an operation on a shared word did nothing.

use crate::futex::OutOfRange;
use crate::sys::futex2::{self, Call, Failure};
use crate::sys::syscall::Errno;

/// Why an operation on a shared word did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The kernel lacks the call or flag, or a seccomp filter withholds it (it answers `ENOSYS` or
    /// `EPERM`).
    Unsupported {
        /// The system call, or the flag of one.
        call: &'static str,
        /// The first kernel that has it.
        since: &'static str,
    },
    /// The word to requeue from didn't hold the expected value (futex(2): `EAGAIN`).
    Mismatch,
    /// More words than one wait takes.
    TooManyWords {
        /// How many there were.
        given: usize,
        /// How many there may be.
        most: usize,
    },
    /// A wait for any of no words.
    NoWords,
    /// A bitset of no bits, which would match no waiter.
    EmptyBitset,
    /// A wake-op with a count of 0 for one of its words: the kernel would wake one waiter.
    ZeroCount,
    /// Two words of different scopes, or one with a node and one without: the kernel has no
    /// operation on both.
    ScopesDiffer,
    /// A wake-op on words with a node or a memory policy: futex2 has no such operation.
    NotPlain,
    /// A number that a wake-op can't carry.
    OutOfRange(OutOfRange),
    /// Any other error of the kernel.
    Os {
        /// The system call.
        call: &'static str,
        /// Its errno.
        errno: i32,
    },
}

impl Error {
    /// The errno that futex(2) has for it.
    pub fn errno(&self) -> i32 {
        match self {
            Error::Unsupported { .. } => libc::ENOSYS,
            Error::Mismatch => libc::EAGAIN,
            Error::Os { errno, .. } => *errno,
            Error::TooManyWords { .. }
            | Error::NoWords
            | Error::EmptyBitset
            | Error::ZeroCount
            | Error::ScopesDiffer
            | Error::NotPlain
            | Error::OutOfRange(_) => libc::EINVAL,
        }
    }

    /// The meaning of `errno` from futex(2).
    pub(super) fn of_futex(Errno(errno): Errno) -> Self {
        Error::Os { call: "futex", errno }
    }

    /// Why `call` failed for words with `flags`.
    pub(super) fn of_futex2(call: Call, flags: u32, failure: Failure) -> Self {
        match failure {
            Failure::Absent => Error::Unsupported { call: call.name(), since: call.since() },
            Failure::Errno(Errno(errno)) => {
                // EINVAL may also mean a node that doesn't exist: ask for the flag alone.
                let unknown =
                    |flag| errno == libc::EINVAL && flags & flag != 0 && !futex2::knows(flag);
                if unknown(futex2::NUMA) {
                    Error::Unsupported { call: "FUTEX2_NUMA", since: "Linux 6.16" }
                } else if unknown(futex2::MPOL) {
                    Error::Unsupported { call: "FUTEX2_MPOL", since: "Linux 6.16" }
                } else {
                    Error::Os { call: call.name(), errno }
                }
            }
        }
    }
}

impl From<OutOfRange> for Error {
    fn from(number: OutOfRange) -> Self {
        Error::OutOfRange(number)
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Error::Unsupported { call, since } => write!(
                f,
                "{call} is missing: run {since} or newer, and let seccomp filters allow it"
            ),
            Error::Mismatch => {
                f.write_str("the word to requeue from no longer holds the expected value")
            }
            Error::TooManyWords { given, most } => write!(
                f,
                "one wait takes at most {most} words, not {given}: split them among threads, or \
                 let several share a word"
            ),
            Error::NoWords => f.write_str("a wait for any of no words would never end: name one"),
            Error::EmptyBitset => {
                f.write_str("an empty bitset matches no waiter: set at least one bit")
            }
            Error::ZeroCount => {
                f.write_str("a wake-op wakes at least one waiter on each word: count from 1")
            }
            Error::ScopesDiffer => f.write_str(
                "the words are of different scopes, or only one has a node: give both the same",
            ),
            Error::NotPlain => f.write_str(
                "a wake-op takes no word with a node or memory policy: change it and wake in two \
                 steps instead",
            ),
            Error::OutOfRange(number) => number.fmt(f),
            Error::Os { call, errno } => {
                write!(f, "{call} failed: {}", std::io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl core::error::Error for Error {}
