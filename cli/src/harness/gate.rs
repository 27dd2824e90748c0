//! A gate that lets all threads of a workload start together. It uses the kernel's futex, not the
//! locks under test, so that it costs all implementations the same.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use rustix::thread::futex::{self, Flags};

use super::usage::Usage;

pub struct Gate {
    missing: AtomicU32,
    open: AtomicU32,
}

impl Gate {
    pub fn new(threads: usize) -> Self {
        let missing = u32::try_from(threads).expect("fewer threads than a kernel can have");
        Gate { missing: AtomicU32::new(missing), open: AtomicU32::new(0) }
    }

    /// For the threads: arrives, and waits until the gate opens.
    pub fn pass(&self) {
        if self.missing.fetch_sub(1, SeqCst) == 1 {
            wake_all(&self.missing);
        }
        while self.open.load(SeqCst) == 0 {
            wait(&self.open, 0);
        }
    }

    /// For the main thread: returns once all threads have come to the gate.
    pub fn wait_for_all(&self) {
        loop {
            match self.missing.load(SeqCst) {
                0 => return,
                missing => wait(&self.missing, missing),
            }
        }
    }

    /// For the main thread: lets all threads start, once they have come.
    pub fn start(&self) -> Usage {
        self.wait_for_all();
        let usage = Usage::now();
        self.open();
        usage
    }

    fn open(&self) {
        self.open.store(1, SeqCst);
        wake_all(&self.open);
    }
}

/// Returns at once if the word is not `value`, and may return spuriously: callers look again.
fn wait(word: &AtomicU32, value: u32) {
    let _ = futex::wait(word, Flags::PRIVATE, value, None);
}

fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, i32::MAX as u32);
}
