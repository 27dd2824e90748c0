//! Threads that make the calls that may block.

use super::Futex;
use super::raw::Raw;
use std::fs::File;
use std::io::{Read, Write};
use std::mem;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

/// One thread, idle or in a call.
pub(super) struct Worker {
    shared: Arc<Shared>,
    /// `/proc/self/task/TID/syscall`: the call that it sleeps in.
    sleeps_in: File,
    /// The call that it is in. The master frees it: a worker that met another thread in the
    /// allocator would seem to wait.
    job: Option<Box<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// What the worker and its master share. No locks, for the same reason.
struct Shared {
    /// An idle worker sleeps on this. It isn't a futex, so that only waits sleep in futex(2).
    doorbell: File,
    job: AtomicPtr<Job>,
    done: AtomicBool,
    value: AtomicI64,
    errno: AtomicI32,
}

struct Job {
    implementation: &'static dyn Futex,
    call: Raw,
}

/// What a look at a worker shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It has returned with this.
    Returned(Result<i64, i32>),
    /// It sleeps as a waiter.
    Blocked,
    /// Neither.
    Running,
}

impl Worker {
    pub(super) fn start() -> Self {
        // SAFETY: no pointers.
        let doorbell = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        assert!(doorbell >= 0, "an eventfd can be had");
        let shared = Arc::new(Shared {
            // SAFETY: just made, and owned by nothing else.
            doorbell: unsafe { File::from_raw_fd(doorbell) },
            job: AtomicPtr::default(),
            done: AtomicBool::new(false),
            value: AtomicI64::new(0),
            errno: AtomicI32::new(0),
        });
        let (tell, told) = channel();
        let its = shared.clone();
        let thread = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            // SAFETY: no arguments.
            tell.send(unsafe { libc::gettid() }).expect("the starter waits for it");
            its.work();
        });
        let thread = thread.expect("a thread can be started");
        let tid = told.recv().expect("the thread tells it");
        let path = format!("/proc/self/task/{tid}/syscall");
        let sleeps_in = File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { shared, sleeps_in, job: None, thread: Some(thread) }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.job.is_none()
    }

    /// Lets an idle worker make a call.
    pub(super) fn give(&mut self, implementation: &'static dyn Futex, call: Raw) {
        let mut job = Box::new(Job { implementation, call });
        self.shared.done.store(false, Ordering::Relaxed);
        self.ring(&mut *job);
        self.job = Some(job);
    }

    fn ring(&self, job: *mut Job) {
        self.shared.job.store(job, Ordering::Release);
        let mut bell = &self.shared.doorbell;
        bell.write_all(&1u64.to_ne_bytes()).expect("an eventfd takes 8 bytes");
    }

    /// What a worker in a call does. It is idle from the moment that it is seen to have returned.
    pub(super) fn look(&mut self) -> Seen {
        if let Some(result) = self.returned() {
            return Seen::Returned(result);
        }
        // The call's number and its arguments, or else "running".
        let mut text = [0; 256];
        let length =
            self.sleeps_in.read_at(&mut text, 0).expect("/proc tells of one's own threads");
        let number = text[..length].split(|byte| *byte == b' ').next();
        let number = number.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
        match number {
            Some(libc::SYS_futex | libc::SYS_futex_waitv) => Seen::Blocked,
            _ => Seen::Running,
        }
    }

    /// What it has returned with, if it has. No system call.
    pub(super) fn returned(&mut self) -> Option<Result<i64, i32>> {
        let shared = &self.shared;
        if self.job.is_none() || !shared.done.load(Ordering::Acquire) {
            return None;
        }
        self.job = None;
        let errno = shared.errno.load(Ordering::Relaxed);
        Some(if errno == 0 { Ok(shared.value.load(Ordering::Relaxed)) } else { Err(errno) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.is_idle() {
            self.ring(ptr::null_mut());
            let _ = self.thread.take().map(JoinHandle::join);
        } else {
            // No wake reaches it, but it may still use the job.
            mem::forget(self.job.take());
        }
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let mut bell = &self.doorbell;
            bell.read_exact(&mut [0; 8]).expect("an eventfd gives 8 bytes");
            // SAFETY: the master keeps the job until it has seen `done`.
            let Some(job) = (unsafe { self.job.load(Ordering::Acquire).as_ref() }) else { return };
            // SAFETY: the stage makes sure of the operands.
            let (value, errno) = match unsafe { job.call.perform(job.implementation) } {
                Ok(value) => (value, 0),
                Err(errno) => (0, errno),
            };
            self.value.store(value, Ordering::Relaxed);
            self.errno.store(errno, Ordering::Relaxed);
            self.done.store(true, Ordering::Release);
        }
    }
}
