//! glibc's rwlock since 2.25 as it behaves (Riegel 2016), in its default kind, which prefers
//! readers: they enter while a read phase lasts, whether or not a writer waits.
//!
//! | bits of `readers` | meaning |
//! |---|---|
//! | 0 | a write phase: readers wait |
//! | 1 | a writer is the primary one: it is inside or next |
//! | 3 and up | how many readers are inside or wait for a read phase |
//!
//! Threads wait for a phase at `phase`, and writers to become the primary one at `writers`. A
//! word's bit 1 says that threads may sleep on it.

use machine::atomic::{AtomicU32, Ordering};
use machine::{kernel_wait, kernel_wake};

use super::ReadWriteLock;

const WRITE_PHASE: u32 = 1;
const PRIMARY: u32 = 2;
const READER: u32 = 8;

/// In `phase` and `writers`.
const USED: u32 = 2;

#[derive(Default)]
pub struct GlibcReadWriteLock {
    readers: AtomicU32,
    /// 1 in a write phase.
    phase: AtomicU32,
    /// 1 while there is a primary writer.
    writers: AtomicU32,
    /// The writer's thread id.
    owner: AtomicU32,
}

impl ReadWriteLock for GlibcReadWriteLock {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn read(&self) {
        let mut seen = self.readers.fetch_add(READER, Ordering::Acquire) + READER;
        while seen & WRITE_PHASE != 0 && seen & PRIMARY == 0 {
            match self.exchange(seen, seen ^ WRITE_PHASE, Ordering::Acquire) {
                Ok(_) => return self.begin_phase(0),
                Err(now) => seen = now,
            }
        }
        if seen & WRITE_PHASE != 0 {
            self.wait_for_phase(0);
        }
    }

    fn end_read(&self) {
        let mut seen = self.readers.load(Ordering::Relaxed);
        loop {
            let mut left = seen - READER;
            if left < READER && left & PRIMARY != 0 {
                left |= WRITE_PHASE;
            }
            match self.exchange(seen, left, Ordering::Release) {
                Ok(_) if left & WRITE_PHASE != 0 => return self.begin_phase(1),
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    fn write(&self) {
        let mut seen = self.readers.fetch_or(PRIMARY, Ordering::Acquire);
        let mut may_share = false;
        if seen & PRIMARY != 0 {
            (seen, may_share) = self.become_primary();
        }
        let used = if may_share { USED } else { 0 };
        self.writers.store(1 | used, Ordering::Relaxed);
        while seen & WRITE_PHASE == 0 && seen < READER {
            match self.exchange(seen, seen | WRITE_PHASE, Ordering::Acquire) {
                Ok(_) => {
                    self.phase.store(1, Ordering::Relaxed);
                    seen |= WRITE_PHASE;
                }
                Err(now) => seen = now,
            }
        }
        if seen & WRITE_PHASE == 0 {
            self.wait_for_phase(1);
        }
        self.owner.store(1, Ordering::Relaxed);
    }

    fn end_write(&self) {
        self.owner.store(0, Ordering::Relaxed);
        let writers_sleep = self.writers.swap(0, Ordering::Relaxed) & USED != 0;
        let mut seen = self.readers.load(Ordering::Relaxed);
        loop {
            let ended = if seen >= READER { WRITE_PHASE } else { 0 };
            match self.exchange(seen, seen ^ PRIMARY ^ ended, Ordering::Release) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        if seen >= READER {
            self.begin_phase(0);
        }
        if writers_sleep {
            kernel_wake(&self.writers, 1);
        }
    }
}

impl GlibcReadWriteLock {
    fn exchange(&self, seen: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        self.readers.compare_exchange_weak(seen, new, success, Ordering::Relaxed)
    }

    /// Tells the threads that wait for it.
    fn begin_phase(&self, phase: u32) {
        if self.phase.swap(phase, Ordering::Relaxed) & USED != 0 {
            kernel_wake(&self.phase, usize::MAX);
        }
    }

    fn wait_for_phase(&self, wanted: u32) {
        let other = 1 - wanted;
        let has_begun = |readers: u32| readers & WRITE_PHASE == wanted;
        let mut ready = false;
        loop {
            let mut phase = self.phase.load(Ordering::Relaxed);
            while phase | USED == other | USED {
                let marked = phase & USED != 0
                    || self
                        .phase
                        .compare_exchange_weak(
                            phase,
                            phase | USED,
                            Ordering::Relaxed,
                            Ordering::Relaxed,
                        )
                        .is_ok();
                if marked {
                    kernel_wait(&self.phase, other | USED, None);
                }
                phase = self.phase.load(Ordering::Relaxed);
            }
            if ready {
                return;
            }
            ready = has_begun(self.readers.load(Ordering::Acquire));
        }
    }

    /// Returns what `readers` held, and whether others may sleep at `writers` beside the caller.
    fn become_primary(&self) -> (u32, bool) {
        let mut may_share = false;
        let mut seen = self.readers.load(Ordering::Relaxed);
        loop {
            while seen & PRIMARY == 0 {
                match self.exchange(seen, seen | PRIMARY, Ordering::Acquire) {
                    Ok(_) => return (seen, may_share),
                    Err(now) => seen = now,
                }
            }
            let writers = self.writers.load(Ordering::Relaxed);
            let marked = writers == 1 | USED
                || writers == 1
                    && self
                        .writers
                        .compare_exchange(1, 1 | USED, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok();
            if marked {
                may_share = true;
                kernel_wait(&self.writers, 1 | USED, None);
            }
            seen = self.readers.load(Ordering::Relaxed);
        }
    }
}
