//! Waiting with a file descriptor.

use crate::deadline::errno_of;
use crate::word::{self, Sized, Word, by_size};
use core::ffi::c_int;
use engine::futex::{self, WaitFd, WaitFdError};
use libc::{EAGAIN, EBADF, EINVAL, ENOMEM};
use std::os::fd::AsRawFd;

/// A descriptor in a word's queue.
pub struct furwock_waitfd(WaitFd<'static>);

/// Queues a descriptor at `word`, of `size` bytes (1, 2, 4 or 8), if that holds `expected`, and
/// stores a handle to it in `*waitfd`. The descriptor polls as readable once woken. It stands in
/// the same queue as threads, and takes one wake.
///
/// Returns 0; EAGAIN if the word holds another value; EINVAL as furwock_wait_bitset; EMFILE,
/// ENFILE, ENOMEM. The word has to exist until furwock_waitfd_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait_fd(
    word: *const Word,
    size: usize,
    expected: u64,
    waitfd: *mut *mut furwock_waitfd,
) -> c_int {
    if waitfd.is_null() {
        return EINVAL;
    }
    // SAFETY: the caller's word, and its place for the answer.
    unsafe {
        let queued = by_size!(size, wait_fd(word, expected));
        errno_of(queued.map(|queued| waitfd.write(queued)))
    }
}

/// Returns the descriptor, for poll(2), epoll(7) and the like, or -1 for NULL. It belongs to the
/// handle: don't read or close it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_waitfd_fd(waitfd: *const furwock_waitfd) -> c_int {
    // SAFETY: the caller's handle, or NULL.
    unsafe { waitfd.as_ref() }.map_or(-1, |waitfd| waitfd.0.as_raw_fd())
}

/// Returns 0 if it was woken: the caller takes the wake, and sees what the waker wrote before it.
/// EAGAIN if it wasn't; EBADF for NULL. Call it whenever the descriptor has polled as readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_waitfd_woken(waitfd: *mut furwock_waitfd) -> c_int {
    // SAFETY: the caller's handle, or NULL.
    let waitfd = unsafe { waitfd.as_mut() }.ok_or(EBADF);
    errno_of(waitfd.and_then(|waitfd| waitfd.0.is_woken().then_some(()).ok_or(EAGAIN)))
}

/// Leaves the queue, closes the descriptor and frees the handle. A wake that furwock_waitfd_woken
/// never reported goes on to the next waiter. close(2) on the descriptor does none of that: the
/// waiter would stay queued, and use up a wake. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_waitfd_close(waitfd: *mut furwock_waitfd) {
    if !waitfd.is_null() {
        // SAFETY: made by `wait_fd` as a slice of one, and given up by the caller.
        drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(waitfd, 1)) });
    }
}

/// # Safety
/// The word is null, or there until the handle is closed.
unsafe fn wait_fd<A: Sized>(
    word: *const Word,
    expected: u64,
) -> Result<*mut furwock_waitfd, c_int> {
    // SAFETY: by this function's contract.
    let word = unsafe { word::at::<A>(word) }?;
    let expected = word::narrow::<A>(expected)?;
    let mut place = Vec::new();
    place.try_reserve_exact(1).map_err(|_| ENOMEM)?;
    let queued = futex::wait_fd(word, expected).map_err(|error| match error {
        WaitFdError::Mismatch => EAGAIN,
        WaitFdError::Os(error) => error.raw_os_error().unwrap_or(ENOMEM),
    })?;
    place.push(furwock_waitfd(queued));
    Ok(Box::into_raw(place.into_boxed_slice()).cast())
}
