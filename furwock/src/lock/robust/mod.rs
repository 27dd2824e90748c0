//! Robust locks: the kernel tells of a holder's death (set_robust_list(2)).
//!
//! `state` has the words, `entry` one word with its place in the thread's robust list, `mutex` and
//! `rwlock` what is made of them. They sleep on the kernel's futexes and use nothing of the lot:
//! only the kernel survives the death of any party.

mod entry;
mod mutex;
pub(crate) mod rwlock;
mod state;

pub use mutex::RawRobustMutex;
pub use rwlock::{RawRobustRwLock, ReadHeld, ReadSlot};

#[cfg(not(any(loom, shuttle)))]
use crate::sys::robust_unlock;
use crate::sys::unsupported::Unsupported;

/// Whether this kernel lets a thread release a robust lock and forget it in one step: Linux 7.2 and
/// later, on x86-64. Where it doesn't, the memory of a destroyed lock isn't safe from the death of
/// the thread that released it last: see [`RawRobustMutex::unlock`].
#[cfg(not(any(loom, shuttle)))]
pub fn unlock_is_one_step() -> bool {
    robust_unlock::look();
    robust_unlock::is_there()
}

/// How a robust lock was had. The caller holds it either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "if the owner died, the data has to be repaired"]
pub enum Held {
    /// As if nothing had happened.
    Acquired,
    /// A holder died. What the lock protects may be half done: the caller repairs it and calls
    /// `make_consistent`, or else unlocks, and no thread will have the lock again.
    OwnerDied,
}

/// Why a robust lock was not had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A thread unlocked it without having made it consistent: it is lost for good.
    NotRecoverable,
    /// Another thread has it, and the caller wouldn't wait.
    WouldBlock,
    /// The deadline passed.
    TimedOut,
    /// The kernel or the C library keeps no robust list that furwock could share.
    Unsupported(Unsupported),
}

impl From<Unsupported> for Refused {
    fn from(unsupported: Unsupported) -> Self {
        Refused::Unsupported(unsupported)
    }
}
