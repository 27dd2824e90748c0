//! What the rwlock's tests share.

use furwock::Deadline;
use furwock::lock::{Options, Policy, RawRwLock};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub const POLICIES: [Policy; 5] = [
    Policy::PhaseFair,
    Policy::Recursive,
    Policy::PreferReaders,
    Policy::PreferWriters,
    Policy::PreferWritersRecursive,
];

/// Reads of a lock that make it biased.
pub const READS_THAT_BIAS: usize = 200;

/// Gives up after that long.
pub fn in_ms(ms: u64) -> Options {
    Options::new().until(Deadline::after(Duration::from_millis(ms)))
}

pub fn nap(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

pub fn bias(lock: &RawRwLock) {
    (0..READS_THAT_BIAS).for_each(|_| pass(lock, false));
}

pub fn lock(lock: &RawRwLock, writes: bool) {
    if writes { lock.lock_exclusive() } else { lock.lock_shared() }
}

pub fn unlock(lock: &RawRwLock, writes: bool) {
    if writes {
        lock.unlock_exclusive()
    } else {
        lock.unlock_shared()
    };
}

/// In as a writer or a reader, and out.
pub fn pass(raw: &RawRwLock, writes: bool) {
    lock(raw, writes);
    unlock(raw, writes);
}

/// The same by a thread of its own.
pub fn passes(lock: &Arc<RawRwLock>, writes: bool) -> JoinHandle<()> {
    let lock = Arc::clone(lock);
    thread::spawn(move || pass(&lock, writes))
}
