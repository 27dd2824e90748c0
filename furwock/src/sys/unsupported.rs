//! What a kernel hasn't got.

use core::fmt;

/// The kernel lacks a system call or operation that was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unsupported {
    /// The call's name.
    pub call: &'static str,
    /// The Linux version that first had it.
    pub since: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this kernel has no {}, which Linux {} brought", self.call, self.since)
    }
}

impl std::error::Error for Unsupported {}
