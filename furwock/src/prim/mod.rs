//! The ground floor: atomics, checked cells, the kernel's sleep and wake, and whatever else a model
//! checker has to be able to replace.
//!
//! Everything above imports these names from here and from nowhere else. `native` is the real thing;
//! `model` stands in under `--cfg loom` (every interleaving of a small scenario, weak orderings
//! included) and `--cfg shuttle` (random schedules of a large one, sequentially consistent).

#[cfg(any(loom, shuttle))]
mod model;
#[cfg(any(loom, shuttle))]
pub(crate) mod model_pi;
#[cfg(not(any(loom, shuttle)))]
mod native;

pub mod mutant;

#[cfg(any(loom, shuttle))]
pub(crate) use model::*;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use native::*;

/// Whether a model checker has found a failure and unwinds: it takes no more calls.
#[inline(always)]
pub(crate) fn checker_has_failed() -> bool {
    cfg!(any(loom, shuttle)) && std::thread::panicking()
}

/// Why a sleep on a kernel futex ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// Woken, or the word no longer held the expected value.
    Ended,
    /// A signal handler ran that doesn't ask for interrupted calls to go on (`SA_RESTART`), or
    /// any while there was a deadline.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    Signalled,
    /// The deadline passed.
    TimedOut,
}

/// A `Cell` whose accesses the model checker watches: for data that a lock protects.
#[derive(Debug, Default)]
pub(crate) struct CheckedCell<T>(UnsafeCell<T>);

impl<T: Copy> CheckedCell<T> {
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// # Safety
    /// No other thread may be writing the cell: the caller holds what protects it.
    #[inline]
    pub(crate) unsafe fn get(&self) -> T {
        // SAFETY: no concurrent writer, by this function's contract; the pointer comes from a live cell.
        self.0.with(|value| unsafe { *value })
    }

    /// # Safety
    /// As for `set`.
    #[inline]
    pub(crate) unsafe fn replace(&self, value: T) -> T {
        // SAFETY: by this function's contract.
        unsafe {
            let old = self.get();
            self.set(value);
            old
        }
    }

    /// # Safety
    /// No other thread may be reading or writing the cell: the caller holds what protects it.
    #[inline]
    pub(crate) unsafe fn set(&self, value: T) {
        // SAFETY: no concurrent access, by this function's contract; the pointer comes from a live cell.
        self.0.with_mut(|slot| unsafe { *slot = value });
    }
}

// SAFETY: access goes through the unsafe `get` and `set`, whose callers uphold exclusion.
unsafe impl<T: Send> Sync for CheckedCell<T> {}
