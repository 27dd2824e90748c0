//! Several processes in one test: memory that they share, and children that end in bounded time.

use crate::common::watchdog::{Patience, Whom};
use std::ops::Deref;
use std::time::Duration;

/// Zeroed memory that children share.
pub struct Shared<T>(*mut T);

// SAFETY: gives out shared references only.
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// # Safety
    /// All zeroes must be a `T`.
    pub unsafe fn zeroed() -> Self {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let pages = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(pages, libc::MAP_FAILED);
        Self(pages.cast())
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped and valid by `zeroed`, until dropped.
        unsafe { &*self.0 }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `zeroed`, with this size.
        unsafe { libc::munmap(self.0.cast(), size_of::<T>()) };
    }
}

/// A forked child. Killed when it is dropped.
pub struct Child {
    pid: libc::pid_t,
    status: Option<i32>,
}

/// Runs `body` in a child, which ends with its code. Between fork and end only one thread is there,
/// and others' locks may be held for ever: `body` mustn't allocate, print or panic.
pub fn child(body: impl FnOnce() -> i32) -> Child {
    // SAFETY: `body` keeps to the rule above.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: no memory is touched. A child must not outlive a test that fails.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let code = body();
        // SAFETY: ends the child without its parent's exit handlers.
        unsafe { libc::_exit(code) };
    }
    Child { pid, status: None }
}

impl Child {
    #[allow(dead_code, reason = "not every test file signals")]
    pub fn signal(&self, signal: i32) {
        // SAFETY: the child's own id, which is not reaped yet.
        assert_eq!(unsafe { libc::kill(self.pid, signal) }, 0);
    }

    fn poll(&mut self, options: i32) -> bool {
        let mut status = 0;
        if self.status.is_none() {
            // SAFETY: waits for a child of this process, and writes one status.
            let pid = unsafe { libc::waitpid(self.pid, &mut status, options) };
            if pid == self.pid {
                self.status = Some(status);
            }
        }
        self.status.is_some()
    }

    /// Whether the child has ended.
    #[allow(dead_code, reason = "not every test file looks ahead")]
    pub fn has_ended(&mut self) -> bool {
        self.poll(libc::WNOHANG)
    }

    /// The code that the child ends with, within 20 s as the watchdog has it; or the signal that killed it, negated.
    pub fn end(&mut self) -> i32 {
        let mut patience = Patience::new(Duration::from_secs(20));
        while !self.poll(libc::WNOHANG) {
            if let Some(report) = patience.judge(&Whom::Process(self.pid as u32)) {
                assert!(self.poll(libc::WNOHANG), "a child sleeps on\n{report}");
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        let status = self.status.unwrap();
        if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.poll(libc::WNOHANG) {
            self.signal(libc::SIGKILL);
            self.poll(0);
        }
    }
}
