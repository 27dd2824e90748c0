//! Waiting with a file descriptor: the purpose of `FUTEX_FD`, until Linux dropped it in 2.6.26
//! because a wake before the call returned was lost. Here the value is checked as in any other
//! wait.

use super::Word;
use crate::lot::{self, Key, Sink, Stands, TaskNode, TaskWait};
use crate::sys::eventfd;
use core::marker::PhantomData;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Queues a descriptor at `word`, if that holds `expected`: it polls as readable (poll, epoll, an
/// executor's reactor) once woken.
///
/// It stands in the same queue as threads and tasks, and takes one wake. A leaked one
/// (`mem::forget`) stays queued, and uses up that wake.
///
/// # Errors
/// `Mismatch` if the word doesn't hold `expected`; `Os` if the process is out of descriptors or
/// memory.
pub fn wait_fd<W: Word>(word: &W, expected: W::Value) -> Result<WaitFd<'_>, WaitFdError> {
    let look = || if word.value() == expected { Ok(()) } else { Err(WaitFdError::Mismatch) };
    let wait = wait_fd_at(word.key(), look, lot::ANY)?;
    Ok(WaitFd { wait, word: PhantomData })
}

pub(crate) fn wait_fd_at<E: From<io::Error>>(
    key: Key,
    look: impl Fn() -> Result<(), E>,
    bitset: u32,
) -> Result<TaskWait, E> {
    look()?;
    let node = TaskNode::new().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
    let fd = eventfd::create().map_err(io::Error::from_raw_os_error)?;
    let stands = Stands { bitset, ..Stands::LAST };
    let mut bucket = lot::announce(key);
    if let Err(why) = look() {
        bucket.retract();
        drop(bucket);
        eventfd::close(fd);
        return Err(why);
    }
    Ok(TaskWait::enqueue(&mut bucket, node, key, stands, Sink::Fd(fd)))
}

/// A queued descriptor. Dropping it closes the descriptor and leaves the queue; a wake that reached
/// it and that [`is_woken`](WaitFd::is_woken) never reported goes on to the next waiter.
#[derive(Debug)]
pub struct WaitFd<'w> {
    wait: TaskWait,
    word: PhantomData<&'w ()>,
}

impl WaitFd<'_> {
    /// Whether it was woken. If so it takes the wake, and what the waker wrote before it is
    /// visible.
    pub fn is_woken(&mut self) -> bool {
        self.wait.is_woken()
    }
}

impl AsRawFd for WaitFd<'_> {
    fn as_raw_fd(&self) -> RawFd {
        self.wait.fd().expect("a descriptor's wait has one until it is dropped")
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
