//! What a thread knows of its reads where threads give back each other's. A process of its own:
//! from then on no lock of it is biased.

#![cfg(not(any(loom, shuttle)))]

use furwock::lock::{Options, Policy, RawRwLock};
use furwock::unstable::rwlock::{read_fast, read_with, reads_any, unlock_shared_fast};
use furwock::unstable::rwlock::{unlock_counted_quietly, unlock_shared_of_any};

/// Leaves by the ways that the preload tries, one after the other.
fn leave(lock: &RawRwLock) -> bool {
    unlock_shared_fast(lock) || unlock_counted_quietly(lock) || unlock_shared_of_any(lock)
}

fn read(lock: &RawRwLock) -> bool {
    read_with(lock, &Options::new()).is_some()
}

#[test]
fn giving_back_anothers_read_ends_none_of_ones_own() {
    let biased = RawRwLock::with_policy(Policy::Recursive);
    let own = RawRwLock::with_policy(Policy::Recursive);
    std::thread::scope(|scope| {
        // More reads than bias a lock, so that the last one is in a slot.
        scope.spawn(|| assert!((0..300).all(|_| read(&biased) && leave(&biased)) && read(&biased)));
    });
    assert!(read_fast(&own) && reads_any());
    assert!(leave(&biased) && reads_any());
    assert!(biased.try_lock_exclusive());
    assert!(leave(&own) && !reads_any());
    assert!(own.try_lock_exclusive());
}
