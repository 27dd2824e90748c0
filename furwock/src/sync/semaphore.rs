//! `Semaphore`: the raw semaphore with durations.

use crate::lock::{RawSemaphore, TooManyPermits};
use crate::sys::clock::Deadline;
use core::time::Duration;

/// A counting semaphore: any thread may take permits, and any thread may give them back.
///
/// ```
/// use furwock::Semaphore;
///
/// let ready = Semaphore::new(0)?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| ready.release());
///     ready.acquire();
/// });
/// assert_eq!(ready.available(), 0);
/// # Ok::<(), furwock::TooManyPermits>(())
/// ```
#[derive(Debug)]
pub struct Semaphore {
    raw: RawSemaphore,
}

impl Semaphore {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawSemaphore {
        &self.raw
    }

    /// A semaphore with `permits`, at most [`RawSemaphore::MOST`].
    pub const fn new(permits: u32) -> Result<Self, TooManyPermits> {
        match RawSemaphore::new(permits) {
            Ok(raw) => Ok(Self { raw }),
            Err(too_many) => Err(too_many),
        }
    }

    /// Takes a permit, waiting until there is one. Acquire.
    #[inline]
    pub fn acquire(&self) {
        self.raw.acquire();
    }

    /// Takes a permit if there is one. Acquire, if it did.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        self.raw.try_acquire()
    }

    /// Takes a permit, or gives up after `timeout`. Acquire, if it returns true.
    pub fn try_acquire_for(&self, timeout: Duration) -> bool {
        self.try_acquire() || self.raw.acquire_until(&Deadline::after(timeout))
    }

    /// Takes a permit, or gives up at `deadline`. Acquire, if it returns true.
    pub fn try_acquire_until(&self, deadline: &Deadline) -> bool {
        self.raw.acquire_until(deadline)
    }

    /// Gives back a permit, or makes one, and wakes a thread that waits for it. Release. May be
    /// called from a signal handler.
    #[inline]
    pub fn release(&self) -> Result<(), TooManyPermits> {
        self.raw.release()
    }

    /// Gives back that many permits, and wakes as many threads. Release.
    #[inline]
    pub fn release_many(&self, permits: u32) -> Result<(), TooManyPermits> {
        self.raw.release_many(permits)
    }

    /// How many permits there are at this moment.
    #[inline]
    pub fn available(&self) -> u32 {
        self.raw.available()
    }
}
