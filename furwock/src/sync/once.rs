//! `Once`: the raw once with closures.

use crate::lock::{IfPoisoned, OnceState, RawOnce};
use core::fmt;

/// Runs an initialisation once, whichever threads come first: std's and parking_lot's interface
/// over [`RawOnce`].
///
/// Once it is completed, a call is one load. Everything that the completing closure did is visible
/// to each thread whose call has returned, or that saw [`is_completed`](Self::is_completed) say so.
///
/// A closure that panics *poisons* it, as in std: later calls of [`call_once`](Self::call_once)
/// panic, too, and [`call_once_force`](Self::call_once_force) tries again. Threads that wait for
/// the closure of another then go on as if they had come later.
///
/// In a forked child a closure that another thread of the parent was in counts as one that
/// panicked. One that the forking thread is in goes on in both processes.
///
/// # Examples
/// ```
/// use furwock::Once;
///
/// static START: Once = Once::new();
///
/// fn start() {
///     START.call_once(|| println!("starting"));
/// }
///
/// start();
/// start();
/// assert!(START.is_completed());
/// ```
#[derive(Default)]
pub struct Once {
    raw: RawOnce,
}

impl Once {
    /// One that no closure has completed.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { raw: RawOnce::new() }
    }

    /// One that is completed already.
    pub(super) const fn completed() -> Self {
        Self { raw: RawOnce::done() }
    }

    /// Calls `f`, unless a call has completed; waits for one that is under way in another thread.
    ///
    /// # Panics
    /// - If an earlier closure panicked.
    /// - If it is called by its own closure: std deadlocks there or panics.
    #[inline]
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        if !self.is_completed() {
            let mut f = Some(f);
            self.raw.call(IfPoisoned::Panic, &mut |_| {
                f.take().expect("called once")();
                true
            });
        }
    }

    /// The same, and tries again after a closure that panicked: `f` is told by what it gets.
    ///
    /// # Panics
    /// If it is called by its own closure.
    ///
    /// # Examples
    /// ```
    /// use furwock::Once;
    ///
    /// let once = Once::new();
    /// let panics = std::panic::catch_unwind(|| once.call_once(|| panic!("no network")));
    /// assert!(panics.is_err());
    /// once.call_once_force(|state| assert!(state.is_poisoned()));
    /// // It is completed now, and poisoned no more.
    /// once.call_once(|| unreachable!());
    /// ```
    #[inline]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        if !self.is_completed() {
            let mut f = Some(f);
            self.raw.call(IfPoisoned::Call, &mut |state| {
                f.take().expect("called once")(&state);
                true
            });
        }
    }

    /// `call_once_force` for a closure that says whether it has completed.
    #[inline]
    pub(super) fn try_call_once(&self, f: impl FnOnce() -> bool) {
        let mut f = Some(f);
        self.raw.call(IfPoisoned::Call, &mut |_| f.take().expect("called once")());
    }

    /// Whether a call has completed: then what its closure did is visible. Acquire.
    #[must_use]
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.raw.is_done()
    }

    /// How far it has come, at this moment. Acquire.
    ///
    /// # Examples
    /// ```
    /// use furwock::{Once, OnceState};
    ///
    /// let once = Once::new();
    /// assert_eq!(once.state(), OnceState::New);
    /// once.call_once(|| assert_eq!(once.state(), OnceState::InProgress));
    /// assert_eq!(once.state(), OnceState::Done);
    /// ```
    #[must_use]
    pub fn state(&self) -> OnceState {
        self.raw.state()
    }

    /// Waits until a call has completed.
    ///
    /// # Panics
    /// If a closure panics, or has done so.
    #[inline]
    pub fn wait(&self) {
        if !self.is_completed() {
            self.raw.wait(IfPoisoned::Panic);
        }
    }

    /// Waits until a call has completed, whether or not others panic before.
    ///
    /// # Examples
    /// ```
    /// let once = furwock::Once::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| once.call_once(|| ()));
    ///     once.wait_force();
    /// });
    /// ```
    #[inline]
    pub fn wait_force(&self) {
        if !self.is_completed() {
            self.raw.wait(IfPoisoned::Call);
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
