//! A descriptor for many words: one loop for words and sockets.

use super::any::{Expected, look};
use super::{AnyWaited, Registration, Word};
use crate::lot::{AnyEnded, Group, may_not_lock};
use crate::sys::{eventfd, fork};
use core::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

impl<'w> Registration<'w> {
    /// Makes a descriptor of it, which becomes readable once any of the words is woken: for a loop
    /// that waits for words and sockets alike.
    ///
    /// # Errors
    /// If the process is out of descriptors or memory.
    pub fn into_fd(self) -> io::Result<RegistrationFd<'w>> {
        let fd = eventfd::create().map_err(io::Error::from_raw_os_error)?;
        let generation = fork::generation();
        let mut made = RegistrationFd { words: self.into_words(), group: None, fd, generation };
        made.register();
        match made.group {
            Some(_) => Ok(made),
            None => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
        }
    }
}

/// Words, registered for repeated waits by one descriptor.
///
/// [`arm`](Self::arm) it, wait until it is readable, ask which word was [`woken`](Self::woken), and
/// arm it again with the new values. It takes one wake for each time that it is armed; in between,
/// wakers pass it by, and their changes show as mismatches when it is armed.
///
/// ```
/// use furwock::futex::{AnyWaited, Expected, Registration, wake};
/// use std::os::fd::AsRawFd;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let words = [AtomicU32::new(0), AtomicU32::new(0)];
/// let expected = words.iter().map(|word| Expected::new(word, 0)).collect();
/// let mut any = Registration::new(expected).into_fd()?;
/// assert_eq!(any.arm(), Ok(()));
/// words[1].store(1, Ordering::Release);
/// wake(&words[1], 1);
/// let mut entry = libc::pollfd { fd: any.as_raw_fd(), events: libc::POLLIN, revents: 0 };
/// assert_eq!(unsafe { libc::poll(&mut entry, 1, -1) }, 1);
/// assert_eq!(any.woken(), Some(1));
///
/// assert_eq!(any.arm(), Err(AnyWaited::Mismatch(1)));
/// any.expect(1, &words[1], 1);
/// assert_eq!(any.arm(), Ok(()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Dropping it closes the descriptor. A wake that reached it and was never reported goes on to the
/// next waiter of that word.
pub struct RegistrationFd<'w> {
    words: Vec<Expected<'w>>,
    /// `None` when the kernel had no memory.
    group: Option<Group>,
    fd: c_int,
    generation: u32,
}

impl<'w> RegistrationFd<'w> {
    /// As [`Registration::expect`], for the next time that it is armed.
    ///
    /// # Panics
    /// If there is no such word, or if `word` isn't the one that was registered with this index.
    pub fn expect<W: Word>(&mut self, index: usize, word: &'w W, value: W::Value) {
        self.words[index].expect(index, word, value);
    }

    /// The words, with their expected values.
    pub fn words(&self) -> &[Expected<'w>] {
        &self.words
    }

    /// Has the descriptor become readable once any word is woken, if all hold their values. It is
    /// unreadable until then.
    ///
    /// # Errors
    /// `Woken` with the word that woke it since it was armed last, if that wasn't reported;
    /// `Mismatch` with the first word that doesn't hold its value. Then it isn't armed. Rarely,
    /// when the kernel has no memory, or no descriptor for a forked child, `Woken` is spurious.
    pub fn arm(&mut self) -> Result<(), AnyWaited> {
        if let Some(index) = self.disarm() {
            return Err(AnyWaited::Woken(index));
        }
        if self.group.as_ref().is_none_or(|group| !group.is_in_place()) {
            self.register();
        }
        let words = &self.words;
        let Some(group) = &mut self.group else {
            look(words).map_err(AnyWaited::Mismatch)?;
            return Err(AnyWaited::Woken(0));
        };
        let armed = group.arm_unless(|| look(words));
        armed.map_err(|ended| match ended {
            AnyEnded::Refused(index) => AnyWaited::Mismatch(index),
            AnyEnded::Chosen(index) => {
                eventfd::drain(self.fd);
                AnyWaited::Woken(index)
            }
            AnyEnded::TimedOut | AnyEnded::Signalled => AnyWaited::TimedOut,
        })
    }

    /// The index of the word that was woken since it was armed. It is reported once, takes the
    /// wake, and the descriptor is unreadable again. What the waker wrote before it is visible.
    pub fn woken(&mut self) -> Option<usize> {
        if self.generation != fork::generation() {
            return None;
        }
        let index = self.group.as_mut()?.take_chosen()?;
        eventfd::drain(self.fd);
        Some(index)
    }

    fn disarm(&mut self) -> Option<usize> {
        if self.generation != fork::generation() {
            return None;
        }
        let index = self.group.as_mut()?.disarm()?;
        eventfd::drain(self.fd);
        Some(index)
    }

    #[cold]
    fn register(&mut self) {
        // The old one leaves first, so that its nodes can be reused.
        self.group = None;
        if self.generation != fork::generation() {
            // The descriptor is the parent's, too.
            if eventfd::renew(self.fd).is_err() {
                return;
            }
            self.generation = fork::generation();
        }
        if !may_not_lock() {
            let keys = self.words.iter().map(Expected::key);
            self.group = Group::register_polled(keys, Some(self.fd));
        }
    }
}

impl Drop for RegistrationFd<'_> {
    fn drop(&mut self) {
        // Until then a waker may write to it.
        self.group = None;
        eventfd::close(self.fd);
    }
}

impl AsRawFd for RegistrationFd<'_> {
    fn as_raw_fd(&self) -> RawFd {
        self.fd
    }
}

impl AsFd for RegistrationFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: open until `self` is dropped.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }
}

impl core::fmt::Debug for RegistrationFd<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut debug = f.debug_struct("RegistrationFd");
        debug.field("words", &self.words).field("fd", &self.fd).finish_non_exhaustive()
    }
}
