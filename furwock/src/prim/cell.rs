//! Cells for data that a lock protects.

use super::const_fn::const_unless_model;
#[cfg(any(loom, shuttle))]
use super::model::UnsafeCell;
#[cfg(not(any(loom, shuttle)))]
use super::native::UnsafeCell;

/// A `Cell` whose accesses the model checker watches: for data that a lock protects.
#[derive(Debug, Default)]
pub(crate) struct CheckedCell<T>(UnsafeCell<T>);

impl<T: Copy> CheckedCell<T> {
    const_unless_model! {
        pub(crate) fn new(value: T) -> Self {
            Self(UnsafeCell::new(value))
        }
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
