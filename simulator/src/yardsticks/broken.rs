//! Locks that exclude almost always: what the checks have to find.

use machine::atomic::{AtomicU32, Ordering};
use machine::hint::spin_loop;

use super::{Lock, ReadWriteLock};

/// Looks and takes in two steps: a second thread may look in between.
#[derive(Default)]
pub struct BrokenLock {
    taken: AtomicU32,
}

impl Lock for BrokenLock {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        while self.taken.load(Ordering::Acquire) != 0 {
            spin_loop();
        }
        self.taken.store(1, Ordering::Relaxed);
    }

    fn unlock(&self) {
        self.taken.store(0, Ordering::Release);
    }
}

/// Its writers look for readers only before they take the lock.
#[derive(Default)]
pub struct BrokenReadWriteLock {
    readers: AtomicU32,
    writer: AtomicU32,
}

impl ReadWriteLock for BrokenReadWriteLock {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn read(&self) {
        while self.writer.load(Ordering::Acquire) != 0 {
            spin_loop();
        }
        self.readers.fetch_add(1, Ordering::Acquire);
    }

    fn end_read(&self) {
        self.readers.fetch_sub(1, Ordering::Release);
    }

    fn write(&self) {
        while self.readers.load(Ordering::Acquire) != 0 {
            spin_loop();
        }
        while self.writer.swap(1, Ordering::Acquire) != 0 {
            spin_loop();
        }
    }

    fn end_write(&self) {
        self.writer.store(0, Ordering::Release);
    }
}
