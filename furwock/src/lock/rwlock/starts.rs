//! The states in which a model may find a rwlock at its beginning, and what it may find at its end.

use super::RawRwLock;
use super::settle::waiter_left;
use super::state::{
    BIASED, HANDOFF, HEAT, HOT, ONE_HEAT, ONE_WAKE, PARKED, POLICY, REVOKED, STALE_IN_CHILD,
    UPGRADING, WAS_BIASED,
};
use crate::lot::From;
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::sys::fork::pretend::PARENTS_THREAD;

impl RawRwLock {
    fn saying(word: u64) -> Self {
        Self { word: AtomicU64::new(word) }
    }

    /// A free lock that readers enter by their slots.
    pub(crate) fn biased() -> Self {
        Self::saying(BIASED)
    }

    /// A free lock that the next reader biases.
    pub(crate) fn hot() -> Self {
        Self::saying(HOT)
    }

    /// A free lock that is hot after one more read.
    pub(crate) fn warm() -> Self {
        Self::saying(HOT - ONE_HEAT)
    }

    /// A free lock whose readers may be in slots, though none enters by one any more.
    pub(crate) fn revoked() -> Self {
        Self::saying(REVOKED | (HOT - ONE_HEAT))
    }

    /// A lock that only says what threads of a forked child's parent did.
    pub(crate) fn with_stale_bits() -> Self {
        Self::saying(HANDOFF | PARKED | STALE_IN_CHILD)
    }

    /// The same without what it says of the queue.
    pub(crate) fn with_stale_roles() -> Self {
        Self::saying(STALE_IN_CHILD)
    }

    /// A lock that a thread of a forked child's parent was about to write, once readers in slots
    /// had left.
    pub(crate) fn with_parents_writer() -> Self {
        Self::saying(u64::from(PARENTS_THREAD) | UPGRADING | REVOKED)
    }

    /// A free lock with a writer on its way that has been woken.
    pub(crate) fn with_woken_writer() -> Self {
        Self::saying(ONE_WAKE)
    }

    /// That writer doesn't come: a signal handler has left its wait for good.
    pub(crate) fn leave_as_woken(&self) {
        let address = (&raw const self.word).expose_provenance();
        waiter_left(address, From::Chosen { holds_wake: true });
    }

    /// Has the word say that it was biased before.
    pub(crate) fn note_bias(&self) {
        self.word.fetch_or(WAS_BIASED, Ordering::Relaxed);
    }

    /// What the word says of threads that are inside or wait.
    pub(crate) fn at_rest_says(&self) -> u64 {
        let quiet = HEAT | BIASED | WAS_BIASED | REVOKED | POLICY;
        self.word.load(Ordering::Relaxed) & !quiet
    }

    /// Whether the word says that no thread is inside or waits.
    pub(crate) fn is_quiet(&self) -> bool {
        self.at_rest_says() == 0
    }
}
