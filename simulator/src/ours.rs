//! furwock's own locks behind the yardsticks' interface. Only in builds with `--cfg simulated`, in
//! which furwock takes its atomics from the simulated machine.

use furwock::futex;
use furwock::lock::{RawBarrier, RawCondvar, RawMutex, RawRwLock, RawSemaphore};
use machine::atomic::{AtomicU32, Ordering};

use crate::yardsticks;
use crate::yardsticks::{Padded, VALUE};

pub struct Mutex(RawMutex);

impl yardsticks::Lock for Mutex {
    fn new(_threads: usize) -> Self {
        Mutex(RawMutex::new())
    }

    fn lock(&self) {
        self.0.lock();
    }

    fn unlock(&self) {
        self.0.unlock();
    }
}

pub struct RwLock(RawRwLock);

impl yardsticks::ReadWriteLock for RwLock {
    fn new(_threads: usize) -> Self {
        RwLock(RawRwLock::new())
    }

    fn read(&self) {
        self.0.lock_shared();
    }

    fn end_read(&self) {
        self.0.unlock_shared();
    }

    fn write(&self) {
        self.0.lock_exclusive();
    }

    fn end_write(&self) {
        self.0.unlock_exclusive();
    }
}

pub struct Semaphore(RawSemaphore);

impl yardsticks::Semaphore for Semaphore {
    fn new(permits: u32) -> Self {
        Semaphore(RawSemaphore::new(permits).expect("few permits"))
    }

    fn acquire(&self) {
        self.0.acquire();
    }

    fn release(&self) {
        self.0.release().expect("few permits");
    }
}

pub struct Barrier {
    barrier: RawBarrier,
    threads: u32,
}

impl yardsticks::Barrier for Barrier {
    fn new(threads: usize) -> Self {
        Barrier { barrier: RawBarrier::new(), threads: threads as u32 }
    }

    fn wait(&self) {
        self.barrier.wait(self.threads);
    }
}

pub struct Condvar {
    mutex: Padded<RawMutex>,
    condvar: Padded<RawCondvar>,
}

impl yardsticks::Monitor for Condvar {
    fn new(_threads: usize) -> Self {
        Condvar { mutex: Padded(RawMutex::new()), condvar: Padded(RawCondvar::new()) }
    }

    fn lock(&self) {
        self.mutex.0.lock();
    }

    fn unlock(&self) {
        self.mutex.0.unlock();
    }

    fn wait(&self) {
        self.condvar.0.wait(&self.mutex.0, None);
    }

    fn broadcast(&self) {
        self.condvar.0.notify_all();
    }
}

/// All sleep on one word, by furwock's own calls.
pub struct Sleepers(Padded<AtomicU32>);

impl yardsticks::Sleepers for Sleepers {
    fn new(_threads: usize) -> Self {
        Sleepers(Padded(AtomicU32::new(0)))
    }

    fn sleep(&self, _index: usize, round: u32) {
        while self.0.0.load(Ordering::Acquire) == round {
            futex::wait(&self.0.0, round, None);
        }
    }

    fn wake_all(&self, round: u32) {
        self.0.0.store(round + 1, Ordering::Release);
        futex::wake_all(&self.0.0);
    }
}

/// Waits that take their bucket's lock, though the word tells before that they needn't.
pub struct WaitTable;

impl yardsticks::WaitTable for WaitTable {
    fn new(_processors: usize) -> Self {
        WaitTable
    }

    fn wait(&self, _name: u64, word: &AtomicU32) -> u32 {
        let other = VALUE + 1;
        match furwock::unstable::wait_in_bucket(word, other, None) {
            futex::Waited::Mismatch => VALUE,
            _ => other,
        }
    }
}
