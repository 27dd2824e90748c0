//! Waiting with a file descriptor: the purpose of `FUTEX_FD`, until Linux dropped it in 2.6.26
//! because a wake before the call returned was lost. Here the value is checked as in any other
//! wait.

use super::Word;
use crate::lot::{self, Key, Sink, Stands, TaskNode, TaskWait};
use crate::sys::eventfd;
use core::ffi::c_int;
use core::marker::PhantomData;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Queues a descriptor at `word`, if that holds `expected`: it polls as readable (poll, epoll, an
/// executor's reactor) once woken.
///
/// It stands in the same queue as threads and tasks, and takes one wake; [`WaitFd::rearm`] has it
/// wait for the next. A leaked one (`mem::forget`) stays queued, and uses up that wake.
///
/// # Errors
/// `Mismatch` if the word doesn't hold `expected`; `Os` if the process is out of descriptors or
/// memory.
pub fn wait_fd<W: Word>(word: &W, expected: W::Value) -> Result<WaitFd<'_>, WaitFdError> {
    let holds = || word.value() == expected;
    if !holds() {
        return Err(WaitFdError::Mismatch);
    }
    let fd = eventfd::create().map_err(io::Error::from_raw_os_error)?;
    match queued(fd, word.key(), holds) {
        Ok(wait) => Ok(WaitFd { state: State::Queued(wait), key: word.key(), word: PhantomData }),
        Err(why) => {
            eventfd::close(fd);
            Err(why)
        }
    }
}

/// `fd` as a waiter at `key`.
fn queued(fd: c_int, key: Key, holds: impl FnOnce() -> bool) -> Result<TaskWait, WaitFdError> {
    let node = TaskNode::new().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
    let mut bucket = lot::announce(key);
    if !holds() {
        bucket.retract();
        return Err(WaitFdError::Mismatch);
    }
    Ok(TaskWait::enqueue(&mut bucket, node, key, Stands::LAST, Sink::Fd(fd)))
}

/// A queued descriptor. Dropping it closes the descriptor and leaves the queue; a wake that reached
/// it and that [`is_woken`](WaitFd::is_woken) never reported goes on to the next waiter.
#[derive(Debug)]
pub struct WaitFd<'w> {
    state: State,
    key: Key,
    word: PhantomData<&'w ()>,
}

#[derive(Debug)]
enum State {
    Queued(TaskWait),
    /// `rearm` found another value. The descriptor is this one's to close.
    Idle(c_int),
}

impl<'w> WaitFd<'w> {
    /// Whether it was woken. If so it takes the wake, and what the waker wrote before it is
    /// visible.
    pub fn is_woken(&mut self) -> bool {
        match &mut self.state {
            State::Queued(wait) => wait.is_woken(),
            State::Idle(_) => false,
        }
    }

    /// Waits anew with the same descriptor, if `word` holds `expected`: the descriptor is
    /// unreadable again, and registrations with epoll or a reactor stay.
    ///
    /// No wake is lost in between, as with any wait: wakers change the word first, so a wake that
    /// finds nothing queued shows as a mismatch. One that is queued still keeps its place. A wake
    /// that had reached it is taken, reported or not.
    ///
    /// ```
    /// use furwock::futex::{WaitFdError, wait_fd, wake};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let sent = AtomicU32::new(0);
    /// let mut wait = wait_fd(&sent, 0)?;
    /// sent.store(1, Ordering::Release);
    /// wake(&sent, 1);
    /// // poll(2) reports the descriptor; what was sent is handled, up to the value that was seen.
    /// assert!(matches!(wait.rearm(&sent, 0), Err(WaitFdError::Mismatch)));
    /// wait.rearm(&sent, 1)?;
    /// assert!(!wait.is_woken());
    /// # Ok::<(), WaitFdError>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch` if the word doesn't hold `expected`; `Os` if the process is out of memory, or, in
    /// a forked child, of descriptors. Then it isn't queued, and may be rearmed again.
    ///
    /// # Panics
    /// If `word` isn't the one that it was made for.
    pub fn rearm<W: Word>(&mut self, word: &'w W, expected: W::Value) -> Result<(), WaitFdError> {
        assert_eq!(word.key(), self.key, "not the word that it waits for");
        let holds = || word.value() == expected;
        if let State::Queued(wait) = &self.state {
            if wait.is_queued_and(self.key, holds) {
                return Ok(());
            }
        }
        let fd = self.stand_aside()?;
        self.state = State::Queued(queued(fd, self.key, holds)?);
        Ok(())
    }

    /// Leaves the queue, with an unreadable descriptor.
    fn stand_aside(&mut self) -> Result<c_int, WaitFdError> {
        let idle = State::Idle(self.as_raw_fd());
        match core::mem::replace(&mut self.state, idle) {
            State::Idle(fd) => Ok(fd),
            State::Queued(wait) => wait.into_fd().map_err(|(wait, errno)| {
                self.state = State::Queued(wait);
                io::Error::from_raw_os_error(errno).into()
            }),
        }
    }
}

impl Drop for WaitFd<'_> {
    fn drop(&mut self) {
        if let State::Idle(fd) = self.state {
            eventfd::close(fd);
        }
    }
}

impl AsRawFd for WaitFd<'_> {
    fn as_raw_fd(&self) -> RawFd {
        match &self.state {
            State::Queued(wait) => {
                wait.fd().expect("a descriptor's wait has one until it is dropped")
            }
            State::Idle(fd) => *fd,
        }
    }
}

impl AsFd for WaitFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: open until `self` is dropped.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

/// Why there is no descriptor.
#[derive(Debug)]
pub enum WaitFdError {
    /// The word didn't hold the expected value.
    Mismatch,
    /// The kernel refused one.
    Os(io::Error),
}

impl From<io::Error> for WaitFdError {
    fn from(error: io::Error) -> Self {
        Self::Os(error)
    }
}

impl core::fmt::Display for WaitFdError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Mismatch => f.write_str("the word doesn't hold the expected value"),
            Self::Os(error) => write!(f, "no descriptor to wait with: {error}"),
        }
    }
}

impl core::error::Error for WaitFdError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Mismatch => None,
            Self::Os(error) => Some(error),
        }
    }
}
