//! The states in which a model may find a mutex at its beginning, and what it may find at its end.

use super::RawMutex;
use super::state::{FREE, ONE_WAKE, PARKED, SPIN, WAKES};
use crate::prim::atomic::{AtomicU32, Ordering};

impl RawMutex {
    /// A free mutex whose word still speaks of a spinner in the parent of a forked child.
    #[cfg(loom)]
    pub(crate) fn with_stale_spinner() -> Self {
        Self::with_stale_bits(false, false, true)
    }

    /// A free mutex whose word says what is true no more.
    pub(crate) fn with_stale_bits(parked: bool, wakes: bool, spinner: bool) -> Self {
        let bits = [(parked, PARKED), (wakes, ONE_WAKE), (spinner, SPIN)];
        let said = bits.iter().filter(|(says, _)| *says).map(|(_, bit)| bit).sum();
        Self { word: AtomicU32::new(said) }
    }

    /// Whether the word says nothing: no owner, no waiter, no wake on its way.
    #[cfg(loom)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.word.load(Ordering::Relaxed) == FREE
    }

    /// What the word says, `but_wakes` that are said to be on their way.
    #[cfg(shuttle)]
    pub(crate) fn at_rest_says(&self, but_wakes: bool) -> u32 {
        self.word.load(Ordering::Relaxed) & if but_wakes { !WAKES } else { u32::MAX }
    }
}
