//! What the typed robust locks have in common.

use crate::lock::robust::Refused;
use crate::sys::thread::is_ours;
use crate::sys::unsupported::Unsupported;
use core::fmt;
use std::io::{Write, stderr};

/// Why a robust lock was not simply locked.
///
/// Dropping [`OwnerDied`](Self::OwnerDied)'s guard without making the data consistent makes the
/// lock unusable for good.
#[non_exhaustive]
pub enum RobustError<G> {
    /// A holder died; the caller has the lock exclusively, with this guard, and the data may be
    /// inconsistent. Repair it, then call the guard's `make_consistent`.
    OwnerDied(G),
    /// The lock was given up after a death: no thread can lock it again.
    NotRecoverable,
    /// Another thread holds it, and the caller didn't want to wait.
    WouldBlock,
    /// The deadline passed.
    TimedOut,
    /// The kernel or the C library has no robust list that furwock could share.
    Unsupported(Unsupported),
}

impl<G> RobustError<G> {
    /// The guard of a lock whose holder died.
    pub fn into_guard(self) -> Option<G> {
        match self {
            RobustError::OwnerDied(guard) => Some(guard),
            _ => None,
        }
    }

    pub(super) fn from_refused(refused: Refused) -> Self {
        match refused {
            Refused::NotRecoverable => RobustError::NotRecoverable,
            Refused::WouldBlock => RobustError::WouldBlock,
            Refused::TimedOut => RobustError::TimedOut,
            Refused::Unsupported(what) => RobustError::Unsupported(what),
        }
    }
}

impl<G> fmt::Debug for RobustError<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RobustError::OwnerDied(_) => f.write_str("OwnerDied(..)"),
            RobustError::NotRecoverable => f.write_str("NotRecoverable"),
            RobustError::WouldBlock => f.write_str("WouldBlock"),
            RobustError::TimedOut => f.write_str("TimedOut"),
            RobustError::Unsupported(what) => f.debug_tuple("Unsupported").field(what).finish(),
        }
    }
}

impl<G> fmt::Display for RobustError<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RobustError::OwnerDied(_) => f.write_str("a holder of the lock died"),
            RobustError::NotRecoverable => {
                f.write_str("the lock was given up after a holder's death")
            }
            RobustError::WouldBlock => f.write_str("the lock is held"),
            RobustError::TimedOut => f.write_str("the lock was held until the deadline"),
            RobustError::Unsupported(what) => what.fmt(f),
        }
    }
}

impl<G> core::error::Error for RobustError<G> {}

/// A lock's memory is freed while `holders` hold it, having forgotten their guards. If one of them
/// is a thread of this process, its list would lead into freed memory: there is no way to continue.
/// The caller isn't among them: its holds have been released, and a word that still names it means
/// a dead thread with the same id.
pub(super) fn assert_not_held(mut holders: impl Iterator<Item = u32>) {
    let me = crate::lot::tid();
    let is_other = |&holder: &u32| holder != 0 && holder != me && is_ours(holder);
    if let Some(holder) = holders.find(is_other) {
        // Doesn't panic, whatever standard error is: the memory must not be freed.
        _ = writeln!(stderr(), "furwock: a robust lock was dropped while thread {holder} held it");
        std::process::abort();
    }
}
