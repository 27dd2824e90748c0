//! Which threads may wait on a word, and on which memory node the kernel queues them.

use crate::sys::futex2::{MPOL, PRIVATE, SIZE_U32};

/// Which threads may wait on a word, and how the kernel finds them.
///
/// All users of a word have to use the same scope: a wake may not find a waiter of another scope. A
/// plain word is [`Scope::SHARED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// As futex2 has them.
    flags: u32,
}

impl Scope {
    /// All processes that map the word's memory.
    pub const SHARED: Self = Self { flags: SIZE_U32 };

    /// The threads of this process only, but in the kernel's queues: cheaper there, since the
    /// kernel need not look up what is mapped.
    pub const PRIVATE: Self = Self { flags: SIZE_U32 | PRIVATE };

    /// The same, with the queue on the memory node that the policy of the word's mapping prefers
    /// (mbind(2)), if it prefers one (`FUTEX2_MPOL`, Linux 6.16).
    ///
    /// Processes that give the same memory different policies don't find one another's waiters.
    pub const fn by_memory_policy(self) -> Self {
        Self { flags: self.flags | MPOL }
    }

    /// `word` in this scope: pass it to an operation in place of the word.
    pub const fn of<W>(self, word: &W) -> Scoped<'_, W> {
        Scoped { word, scope: self }
    }

    pub(super) const fn flags(self) -> u32 {
        self.flags
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::SHARED
    }
}

/// A word in a scope of its own: see [`Scope::of`].
#[derive(Debug)]
pub struct Scoped<'word, W> {
    pub(super) word: &'word W,
    pub(super) scope: Scope,
}

impl<W> Clone for Scoped<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Scoped<'_, W> {}
