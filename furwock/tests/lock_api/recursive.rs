//! What version 0.4 has alone: reads that don't wait behind writers; and how locks are let go for a
//! moment, and made under a policy.

use crate::common::{bounded, elsewhere, eventually};
use furwock::inspect;
use furwock::lock::Policy;
use furwock::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
    WithPolicy,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(30);

/// Until a thread waits for the lock at `address`.
fn until_waited_for(address: usize) {
    let waits = || inspect::waits().iter().any(|wait| wait.address == address);
    eventually("a thread waits", waits);
}

#[test]
fn a_recursive_read_passes_a_writer_that_waits() {
    bounded(|| {
        let lock = RwLock::new(1);
        let address = inspect::Inspect::address(&lock);
        thread::scope(|scope| {
            let first = lock.read();
            scope.spawn(|| *lock.write() += 1);
            until_waited_for(address);
            let soon = || Instant::now() + SHORT;
            for _ in 0..100 {
                let again = lock.read_recursive();
                assert_eq!(*first + *again, 2);
                assert!(lock.try_read_recursive().is_some());
                assert!(lock.try_read_recursive_for(LONG).is_some());
                assert!(lock.try_read_recursive_until(soon()).is_some());
            }
            drop(first);
        });
        let writes = lock.write();
        elsewhere(|| {
            assert!(lock.try_read_recursive().is_none());
            assert!(lock.try_read_recursive_for(SHORT).is_none());
            assert!(lock.try_read_recursive_until(Instant::now() + SHORT).is_none());
        });
        assert_eq!(*writes, 2);
    });
}

/// A bump lets a waiter in, and without waiters keeps the lock.
#[test]
fn a_bump_lets_a_waiter_in() {
    bounded(|| {
        let mutex = Mutex::new(0);
        let mut guard = mutex.lock();
        MutexGuard::bump(&mut guard);
        thread::scope(|scope| {
            scope.spawn(|| *mutex.lock() += 1);
            until_waited_for(inspect::Inspect::address(&mutex));
            MutexGuard::bump(&mut guard);
            assert_eq!(*guard, 1);
            drop(guard);
        });

        let (lock, came) = (RwLock::new(0), AtomicBool::new(false));
        let address = inspect::Inspect::address(&lock);
        let writes = || {
            *lock.write() += 1;
            came.store(true, Ordering::Relaxed);
        };
        let mut guard = lock.write();
        RwLockWriteGuard::bump(&mut guard);
        thread::scope(|scope| {
            scope.spawn(writes);
            until_waited_for(address);
            RwLockWriteGuard::bump(&mut guard);
            assert_eq!(*guard, 1);
            drop(guard);
        });
        let mut guard = lock.read();
        RwLockReadGuard::bump(&mut guard);
        thread::scope(|scope| {
            scope.spawn(writes);
            until_waited_for(address);
            RwLockReadGuard::bump(&mut guard);
            assert_eq!(*guard, 2);
            drop(guard);
        });
        let mut guard = lock.upgradable_read();
        RwLockUpgradableReadGuard::bump(&mut guard);
        thread::scope(|scope| {
            scope.spawn(writes);
            until_waited_for(address);
            RwLockUpgradableReadGuard::bump(&mut guard);
            assert_eq!(*guard, 3);
            drop(guard);
        });
        assert!(came.into_inner());
    });
}

#[test]
fn a_lock_has_the_policy_that_it_was_made_under() {
    for policy in [Policy::PhaseFair, Policy::PreferWriters, Policy::Recursive] {
        let lock = RwLock::with_policy(policy, 7);
        assert_eq!((lock.policy(), *lock.read()), (policy, 7));
    }
    assert_eq!(RwLock::new(()).policy(), Policy::PhaseFair);
}
