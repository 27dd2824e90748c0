//! A gate that lets all threads of a workload start together. It uses the kernel's futex, not the
//! locks under test, so that it costs all implementations the same.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::usage::Usage;
use crate::contestants::words::kernel;

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
            kernel::wake(&self.missing, usize::MAX);
        }
        while self.open.load(SeqCst) == 0 {
            kernel::wait(&self.open, 0);
        }
    }

    /// For the main thread: returns once all threads have come to the gate.
    pub fn wait_for_all(&self) {
        loop {
            match self.missing.load(SeqCst) {
                0 => return,
                missing => kernel::wait(&self.missing, missing),
            }
        }
    }

    /// For the main thread: lets all threads start, once they have come.
    pub fn start(&self) -> Usage {
        self.wait_for_all();
        let usage = Usage::now();
        self.open.store(1, SeqCst);
        kernel::wake(&self.open, usize::MAX);
        usage
    }
}
