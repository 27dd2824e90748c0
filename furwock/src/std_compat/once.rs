//! `Once`: furwock's, with std's state.

use core::fmt;

/// Runs an initialisation once, whichever threads come first: [`std::sync::Once`]'s interface over
/// [`furwock::Once`](crate::Once).
///
/// A closure that panics poisons it, as std's. A closure that calls its own `Once` panics, where
/// std deadlocks or panics.
///
/// ```
/// use furwock::std_compat::Once;
///
/// static START: Once = Once::new();
///
/// let mut calls = 0;
/// START.call_once(|| calls += 1);
/// START.call_once(|| calls += 1);
/// assert_eq!(calls, 1);
/// ```
pub struct Once {
    once: crate::Once,
}

/// What [`Once::call_once_force`] passes to its closure.
///
/// ```
/// use furwock::std_compat::Once;
///
/// let once = Once::new();
/// assert!(std::panic::catch_unwind(|| once.call_once(|| panic!("no network"))).is_err());
/// once.call_once_force(|state| assert!(state.is_poisoned()));
/// assert!(once.is_completed());
/// ```
pub struct OnceState {
    poisoned: bool,
}

/// A [`Once`] that no closure has completed.
#[deprecated(note = "use `Once::new()`")]
#[allow(clippy::declare_interior_mutable_const, reason = "std's way to say const new()")]
pub const ONCE_INIT: Once = Once::new();

#[allow(clippy::new_without_default, reason = "std's has none")]
impl Once {
    /// One that no closure has completed.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { once: crate::Once::new() }
    }

    /// Calls `f`, unless a call has completed; waits for one that is under way in another thread.
    ///
    /// # Panics
    /// If an earlier closure panicked, and if it is called by its own closure.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        self.once.call_once(f);
    }

    /// The same, and tries again after a closure that panicked: `f` is told by what it gets.
    ///
    /// # Panics
    /// If it is called by its own closure.
    #[inline]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        self.once.call_once_force(|state| f(&OnceState { poisoned: state.is_poisoned() }));
    }

    /// Whether a call has completed: then what its closure did is visible.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.once.is_completed()
    }

    /// Waits until a call has completed.
    ///
    /// # Panics
    /// If a closure panics, or has done so.
    pub fn wait(&self) {
        self.once.wait();
    }

    /// Waits until a call has completed, whether or not others panic before.
    pub fn wait_force(&self) {
        self.once.wait_force();
    }
}

impl OnceState {
    /// Whether the last closure panicked.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.is_poisoned()).finish()
    }
}
