//! What this system can't do.

use core::fmt;

/// The kernel or the C library lacks what an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unsupported {
    /// What is lacking: a system call, or what is to be registered by one.
    pub call: &'static str,
    /// Where it first came.
    pub since: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not supported here: {} (since {})", self.call, self.since)
    }
}

impl core::error::Error for Unsupported {}
