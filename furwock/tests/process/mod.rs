//! Several processes in one test: memory that they share, and children that end in bounded time.

#![allow(dead_code, reason = "not every test file uses everything")]

use crate::common::watchdog::{Patience, Subject};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A wait without progress for so long counts as endless.
pub const BOUND: Duration = Duration::from_secs(20);

/// Maps `size` shared bytes, of a file unless `file` is -1.
pub fn map(size: usize, file: i32) -> *mut u8 {
    let flags = libc::MAP_SHARED | if file < 0 { libc::MAP_ANONYMOUS } else { 0 };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping disturbs nothing.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, file, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    place.cast()
}

/// Zeroed memory that children share.
pub struct Shared<T>(*mut T);

// SAFETY: gives out shared references only.
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Shared<T> {}

/// Zeroed memory for a `T` of atomics: the only ones that tests share so.
pub fn shared<T: Sync>() -> Shared<T> {
    Shared(map(size_of::<T>(), -1).cast())
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped until it is dropped; all zeroes are atomics.
        unsafe { &*self.0 }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `shared`, with this size.
        unsafe { libc::munmap(self.0.cast(), size_of::<T>()) };
    }
}

/// A child that runs `work` and ends, with 1 if that panics. It dies with its parent, and has one
/// thread. If the parent has others, their locks may be held for ever in the child: then `work`
/// mustn't print, and may use of the parent's objects only what furwock allows.
pub fn fork(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: `work` keeps to the rule above.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: no memory is touched. A child must not outlive a test that fails.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let result = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: ends the child without its parent's exit handlers.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    pid
}

/// Waits for a child's end, within `BOUND`; returns its wait status.
pub fn reap(pid: libc::pid_t) -> i32 {
    Child { pid, status: None }.reaped()
}

pub fn kill(pid: libc::pid_t) {
    // SAFETY: a child of ours that hasn't been waited for, so the id is its own.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Whether `check` holds in a forked child. It allocates and prints nothing.
#[track_caller]
pub fn holds_in_a_child(check: impl FnOnce() -> bool) {
    assert_eq!(child(|| i32::from(!check())).end(), 0, "not in the child");
}

/// A forked child. Killed when it is dropped.
pub struct Child {
    pid: libc::pid_t,
    status: Option<i32>,
}

/// Runs `body` in a child, which ends with its code, by the rule of `fork`.
pub fn child(body: impl FnOnce() -> i32) -> Child {
    let run = || {
        let code = body();
        // SAFETY: ends the child without its parent's exit handlers.
        unsafe { libc::_exit(code) };
    };
    Child { pid: fork(run), status: None }
}

impl Child {
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
    pub fn has_ended(&mut self) -> bool {
        self.poll(libc::WNOHANG)
    }

    /// The status that it ends with, within `BOUND` as the watchdog has it.
    fn reaped(&mut self) -> i32 {
        let mut patience = Patience::new(BOUND);
        while !self.poll(libc::WNOHANG) {
            if let Some(report) = patience.judge(&Subject::Process(self.pid as u32)) {
                assert!(self.poll(libc::WNOHANG), "process {} doesn't end\n{report}", self.pid);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        self.status.unwrap()
    }

    /// The code that the child ends with; or the signal that killed it, negated.
    pub fn end(&mut self) -> i32 {
        let status = self.reaped();
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

/// Allows this thread, and those that it will start, the first `count` of its processors.
pub fn keep_processors(count: usize) {
    // SAFETY: a set may be zero bytes, the calls stay within it, and the numbers within its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set), 0);
        let allowed = |&number: &usize| libc::CPU_ISSET(number, &set);
        let others: Vec<_> = (0..libc::CPU_SETSIZE as usize).filter(allowed).skip(count).collect();
        others.into_iter().for_each(|number| libc::CPU_CLR(number, &mut set));
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
    }
}
