//! `Parker`: the raw parker, its thread's end and the others'.

use crate::lock::RawParker;
use crate::sys::clock::Deadline;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use std::sync::Arc;

/// Lets a thread sleep until another one lets it go on: what `std::thread::park` does, as an object
/// of its own, with crossbeam's interface.
///
/// There is at most one *token*: [`Unparker::unpark`] makes it, and a park waits for it and takes
/// it. An unpark that comes first is therefore not lost, and two that come one after another count
/// as one. A park returns for no other reason. What a thread did before its unpark is visible after
/// the park that took the token.
///
/// # Examples
/// ```
/// use furwock::Parker;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::Duration;
///
/// let (parker, done) = (Parker::new(), AtomicBool::new(false));
/// let unparker = parker.unparker().clone();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         done.store(true, Ordering::Relaxed);
///         unparker.unpark();
///     });
///     parker.park();
///     assert!(done.load(Ordering::Relaxed));
/// });
/// assert!(!parker.park_for(Duration::from_millis(1)));
/// ```
pub struct Parker {
    unparker: Unparker,
    /// One thread parks at a time.
    _not_sync: PhantomData<Cell<()>>,
}

/// Lets the thread of a [`Parker`] go on. Any number of threads may have one.
#[derive(Clone)]
pub struct Unparker {
    raw: Arc<RawParker>,
}

impl Parker {
    /// One without a token.
    #[must_use]
    pub fn new() -> Self {
        Self { unparker: Unparker { raw: Arc::default() }, _not_sync: PhantomData }
    }

    /// Waits for the token and takes it. Acquire.
    #[inline]
    pub fn park(&self) {
        self.unparker.raw.park(None);
    }

    /// Waits for the token and takes it, or gives up after `timeout`. Returns whether it took it.
    /// Acquire, if it did.
    #[inline]
    pub fn park_for(&self, timeout: Duration) -> bool {
        self.park_until(Deadline::after(timeout))
    }

    /// Waits for the token and takes it, or gives up at `deadline`: an `Instant`, a `SystemTime` or
    /// a [`Deadline`]. Returns whether it took it. Acquire, if it did.
    #[inline]
    pub fn park_until(&self, deadline: impl Into<Deadline>) -> bool {
        self.unparker.raw.park(Some(&deadline.into()))
    }

    /// What lets this parker's thread go on.
    #[must_use]
    pub fn unparker(&self) -> &Unparker {
        &self.unparker
    }
}

impl Unparker {
    /// Makes the token, unless there is one, and wakes the thread that waits for it. Release. May
    /// be called from a signal handler.
    #[inline]
    pub fn unpark(&self) {
        self.raw.unpark();
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parker").finish_non_exhaustive()
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unparker").finish_non_exhaustive()
    }
}
