//! The bucket lock excludes, and wakes the threads that sleep for it.

use super::{explore, rejects};
use crate::lot::ShortLock;
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use loom::thread;
use std::sync::Arc;

/// `threads` threads add 1 to a plain cell under the lock.
fn count_under_lock(threads: usize) {
    let shared = Arc::new((ShortLock::new(), CheckedCell::new(0)));
    let workers: Vec<_> = (1..threads)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || add(&shared))
        })
        .collect();
    add(&shared);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let _held = shared.0.lock();
    // SAFETY: under the lock.
    assert_eq!(unsafe { shared.1.get() }, threads);
}

fn add(shared: &(ShortLock, CheckedCell<usize>)) {
    let _held = shared.0.lock();
    // SAFETY: under the lock; loom checks it.
    unsafe { shared.1.set(shared.1.get() + 1) };
}

#[test]
fn two_threads_exclude_one_another() {
    explore(4, || count_under_lock(2));
}

#[test]
fn three_threads_exclude_one_another() {
    explore(2, || count_under_lock(3));
}

#[test]
fn rejects_an_unlock_that_forgets_sleepers() {
    rejects(Mutant::BucketUnlockWithoutWake, 3, || count_under_lock(2));
}
