//! A lock that its caller takes by itself, once it is its turn.

use super::RawMutex;
use crate::lock::contender::{Contender, Progress};
use crate::lock::options::{Options, Status};

/// What a wait for one's turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The lock was free a moment ago: [`Attempt::try_take`] it.
    Try,
    /// It was handed over: the caller holds it.
    Held(Status),
    /// The deadline passed first. The attempt is over.
    TimedOut,
}

/// An attempt to take a mutex whose last step is the caller's (Long 2017: the kernel returns
/// `EAGAIN`, and the caller takes the lock in user space).
///
/// [`wait`](Self::wait) returns when the lock has been seen free; it doesn't take it. The caller
/// may look around once more, and then either takes it, waits again, or drops the attempt: others
/// that wait are seen to in any case. A thread whose turn it is holds up those behind it until it
/// does one of these. One that is leaked (`mem::forget`) holds them up for ever.
///
/// ```
/// use furwock::lock::{Options, RawMutex, Turn};
///
/// let mutex = RawMutex::new();
/// let options = Options::new();
/// let mut attempt = mutex.attempt(&options);
/// let status = loop {
///     match attempt.wait() {
///         Turn::Held(status) => break status,
///         Turn::Try => {
///             if let Some(status) = attempt.try_take() {
///                 break status;
///             }
///         }
///         Turn::TimedOut => unreachable!("there is no deadline"),
///     }
/// };
/// assert_eq!(status.sleeps, 0);
/// mutex.unlock();
/// ```
#[derive(Debug)]
pub struct Attempt<'o> {
    mutex: &'o RawMutex,
    contender: Contender<'o, &'o RawMutex>,
}

impl RawMutex {
    /// Begins an attempt whose last step is the caller's: see [`Attempt`].
    pub fn attempt<'o>(&'o self, options: &'o Options) -> Attempt<'o> {
        Attempt { mutex: self, contender: Contender::new(self, options) }
    }
}

impl Attempt<'_> {
    /// Waits until the lock is seen free, is handed over, or the deadline passes.
    pub fn wait(&mut self) -> Turn {
        match self.contender.advance(false) {
            Progress::Taken => Turn::Held(self.contender.status),
            Progress::LookAgain | Progress::IntervalOver => Turn::Try,
            Progress::TimedOut => Turn::TimedOut,
        }
    }

    /// Takes the lock if it is free. Acquire on success.
    pub fn try_take(&mut self) -> Option<Status> {
        self.contender.try_take().then_some(self.contender.status)
    }
}

impl Drop for Attempt<'_> {
    /// A thread that has been woken, or spins, leaves only once others are seen to: by taking the
    /// lock and releasing it, if need be.
    fn drop(&mut self) {
        if self.contender.give_up() == Progress::Taken {
            // The promise, SPIN or a wake, was taken back in the step that took the lock (M-2).
            self.mutex.unlock();
        }
    }
}
