//! An error for what this system can't do.

use core::fmt;

/// The kernel, or the C library, lacks what an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unsupported {
    /// What is missing: a system call, one of its operations, or something that the C library
    /// registers with one.
    pub call: &'static str,
    /// The first version that has it, as in "Linux 5.16".
    pub since: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this system has no {}, which came with {}", self.call, self.since)
    }
}

impl core::error::Error for Unsupported {}
