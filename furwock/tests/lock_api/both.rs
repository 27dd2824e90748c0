//! What holds of the locks over either version; `locks` is their module.

use super::locks;
use crate::common::{bounded, elsewhere};
use furwock::inspect::{Inspect, Named};
use furwock::lock::{RawMutex, RawRwLock};
use locks::lock_api;
use locks::{
    Condvar, MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(30);

fn soon() -> Instant {
    Instant::now() + SHORT
}

/// As code that is generic over locks has it.
fn add<R: lock_api::RawMutex>(mutex: &lock_api::Mutex<R, u32>) {
    *mutex.lock() += 1;
}

fn sum<R: lock_api::RawRwLock>(lock: &lock_api::RwLock<R, Vec<u32>>) -> u32 {
    lock.read().iter().sum()
}

#[test]
fn generic_code_takes_the_locks() {
    let mutex: lock_api::Mutex<RawMutex, u32> = Mutex::new(1);
    add(&mutex);
    assert_eq!(mutex.into_inner(), 2);
    let lock: lock_api::RwLock<RawRwLock, Vec<u32>> = RwLock::new(vec![1, 2]);
    lock.write().push(3);
    assert_eq!(sum(&lock), 6);
}

#[test]
fn a_mutex_is_held_as_long_as_its_guard() {
    bounded(|| {
        let mutex = Mutex::new((1, 2));
        let guard = mutex.lock();
        assert!(mutex.is_locked());
        elsewhere(|| {
            assert!(mutex.try_lock().is_none());
            let started = Instant::now();
            assert!(mutex.try_lock_for(SHORT).is_none());
            assert!(mutex.try_lock_until(soon()).is_none());
            assert!(started.elapsed() >= 2 * SHORT);
        });
        let mut second: MappedMutexGuard<'_, _> = MutexGuard::map(guard, |pair| &mut pair.1);
        *second += 1;
        elsewhere(|| assert!(mutex.try_lock().is_none()));
        drop(second);
        assert!(!mutex.is_locked());
        let mut guard = mutex.try_lock_for(LONG).expect("no thread holds it");
        MutexGuard::unlocked(&mut guard, || assert!(mutex.try_lock().is_some()));
        assert!(mutex.is_locked());
        MutexGuard::bump(&mut guard);
        MutexGuard::unlock_fair(guard);
        assert_eq!(*mutex.try_lock_until(soon()).expect("no thread holds it"), (1, 3));
    });
}

#[test]
fn a_mutex_that_is_let_go_is_had_by_a_waiter() {
    bounded(|| {
        let mutex = Mutex::new(0);
        let guard = mutex.lock();
        thread::scope(|scope| {
            scope.spawn(|| *mutex.lock() += 1);
            scope.spawn(|| *mutex.try_lock_for(LONG).expect("it is let go") += 1);
            scope.spawn(|| {
                let until = Instant::now() + LONG;
                *mutex.try_lock_until(until).expect("it is let go") += 1;
            });
            thread::sleep(SHORT);
            drop(guard);
        });
        assert_eq!(mutex.into_inner(), 3);
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    bounded(|| {
        let lock = RwLock::new((1, 2));
        let reads = lock.read();
        assert!(lock.is_locked() && !lock.is_locked_exclusive());
        elsewhere(|| {
            assert!(lock.try_read().is_some());
            assert!(lock.try_read_for(SHORT).is_some());
            assert!(lock.try_read_until(soon()).is_some());
            assert!(lock.try_write().is_none());
            let started = Instant::now();
            assert!(lock.try_write_for(SHORT).is_none());
            assert!(lock.try_write_until(soon()).is_none());
            assert!(started.elapsed() >= 2 * SHORT);
        });
        let first: MappedRwLockReadGuard<'_, _> = RwLockReadGuard::map(reads, |pair| &pair.0);
        assert_eq!(*first, 1);
        drop(first);
        let writes = lock.write();
        assert!(lock.is_locked_exclusive());
        elsewhere(|| {
            assert!(lock.try_read().is_none());
            let started = Instant::now();
            assert!(lock.try_read_for(SHORT).is_none());
            assert!(lock.try_read_until(soon()).is_none());
            assert!(started.elapsed() >= 2 * SHORT);
        });
        let mut second: MappedRwLockWriteGuard<'_, _> =
            RwLockWriteGuard::map(writes, |pair| &mut pair.1);
        *second += 1;
        drop(second);
        RwLockReadGuard::unlock_fair(lock.try_read_for(LONG).expect("it is free"));
        RwLockWriteGuard::unlock_fair(lock.try_write_for(LONG).expect("it is free"));
        assert!(!lock.is_locked());
        assert_eq!(lock.into_inner(), (1, 3));
    });
}

#[test]
fn guards_go_up_and_down() {
    bounded(|| {
        let lock = RwLock::new(0);
        let upgradable = lock.upgradable_read();
        elsewhere(|| {
            assert!(lock.try_read().is_some());
            assert!(lock.try_upgradable_read().is_none());
            assert!(lock.try_upgradable_read_for(SHORT).is_none());
            assert!(lock.try_upgradable_read_until(soon()).is_none());
            assert!(lock.try_write().is_none());
        });
        let mut writes = RwLockUpgradableReadGuard::upgrade(upgradable);
        *writes += 1;
        elsewhere(|| assert!(lock.try_read().is_none()));
        let upgradable = RwLockWriteGuard::downgrade_to_upgradable(writes);
        let writes = RwLockUpgradableReadGuard::try_upgrade(upgradable);
        let reads = RwLockWriteGuard::downgrade(writes.expect("no other reads"));
        elsewhere(|| assert!(lock.try_read().is_some() && lock.try_write().is_none()));
        let upgradable = lock.upgradable_read();
        let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade(upgradable) else {
            panic!("upgraded beside a reader");
        };
        let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, SHORT) else {
            panic!("upgraded beside a reader");
        };
        let until = soon();
        let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade_until(upgradable, until)
        else {
            panic!("upgraded beside a reader");
        };
        // The upgradable reader has kept what it had.
        elsewhere(|| assert!(lock.try_upgradable_read().is_none()));
        drop(reads);
        let reads = RwLockUpgradableReadGuard::downgrade(upgradable);
        elsewhere(|| assert!(lock.try_upgradable_read().is_some()));
        drop(reads);
        RwLockUpgradableReadGuard::unlock_fair(lock.upgradable_read());
        assert!(!lock.is_locked());
    });
}

#[test]
fn a_condvar_releases_the_mutex_and_takes_it_again() {
    bounded(|| {
        let (step, changed) = (Mutex::new(0), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut step = step.lock();
                while *step == 0 {
                    changed.wait(&mut step);
                }
                *step = 2;
                changed.notify_all();
            });
            thread::sleep(SHORT);
            let mut step = step.lock();
            *step = 1;
            changed.notify_one();
            while *step != 2 {
                assert!(!changed.wait_for(&mut step, LONG).timed_out());
            }
            let started = Instant::now();
            while !changed.wait_for(&mut step, SHORT).timed_out() {}
            while !changed.wait_until(&mut step, started + 2 * SHORT).timed_out() {}
            assert!(started.elapsed() >= 2 * SHORT);
            *step += 1;
        });
        assert_eq!(step.into_inner(), 3);
    });
}

#[test]
fn named_locks_are_inspected() {
    let mutex = Named::new("queue", Mutex::new(()));
    let says = |mutex: &Mutex<()>| Inspect::inspect(mutex).holders;
    let free = says(&mutex);
    let guard = mutex.lock();
    assert_ne!(says(&mutex), free);
    drop(guard);
    assert_eq!(says(&mutex), free);
    assert_eq!(mutex.name().map(|name| name.to_string()).as_deref(), Some("queue"));
}
