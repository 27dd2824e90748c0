//! What the rwlock's tests share.

use super::kept;
use furwock::Deadline;
use furwock::lock::{Options, Policy, RawRwLock, thread_id};
use furwock::unstable::rwlock::write_fast_as;
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

/// The wait ends after so many milliseconds.
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
    _ = if writes { lock.unlock_exclusive() } else { lock.unlock_shared() };
}

/// Locks and unlocks.
pub fn pass(raw: &RawRwLock, writes: bool) {
    lock(raw, writes);
    unlock(raw, writes);
}

/// A thread that locks and unlocks.
pub fn passes(lock: &'static RawRwLock, writes: bool) -> JoinHandle<()> {
    thread::spawn(move || pass(lock, writes))
}

/// A lock that any thread may use.
pub fn kept_lock(policy: Policy) -> &'static RawRwLock {
    kept(RawRwLock::with_policy(policy))
}

/// Asserts that no thread is inside or waits, and that the word says so, down to its last bit.
pub fn assert_free(lock: &RawRwLock, when: &str) {
    assert!(!lock.is_locked(), "{when}: {lock:?}");
    // After this no slot names it.
    assert!(lock.lock_exclusive_with(&in_ms(2000)).is_some(), "{when}: {lock:?}");
    lock.unlock_exclusive();
    // It may fail once for no reason, but takes only a lock whose word is empty.
    let taken = (0..100).any(|_| write_fast_as(lock, thread_id()));
    assert!(taken, "{when}: {lock:?}");
    lock.unlock_exclusive();
}
