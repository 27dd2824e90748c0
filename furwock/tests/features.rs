//! The features that pass through to lock_api:
//! `cargo test --release -p furwock --features arc_lock,owning_ref,serde --test features`.

use furwock::{Mutex, MutexGuard, ReentrantMutex, RwLock, RwLockReadGuard};
use owning_ref::{OwningRef, OwningRefMut};
use std::sync::Arc;

/// `arc_lock`: the guard keeps the lock alive.
#[test]
fn a_guard_may_own_its_lock() {
    let mutex = Arc::new(Mutex::new(vec![1]));
    let mut guard = mutex.lock_arc();
    let other = Arc::clone(&mutex);
    drop(mutex);
    guard.push(2);
    assert!(other.try_lock_arc().is_none());
    drop(guard);
    assert_eq!(*other.lock(), [1, 2]);

    let lock = Arc::new(RwLock::new(1));
    let (first, second) = (lock.read_arc(), lock.try_read_arc().unwrap());
    assert_eq!(*first + *second, 2);
    drop((first, second));
    *lock.write_arc() += 1;
    assert_eq!(*lock.upgradable_read_arc(), 2);

    let reentrant = Arc::new(ReentrantMutex::new(3));
    assert_eq!(*reentrant.lock_arc() + *reentrant.lock_arc(), 6);
}

#[cfg(feature = "lock_api_0_5")]
#[test]
fn a_guard_of_the_other_version_may_own_its_lock() {
    let mutex = Arc::new(furwock::lock_api_0_5::Mutex::new(1));
    *mutex.lock_arc() += 1;
    assert_eq!(*mutex.lock(), 2);
}

/// `serde`: a lock is written as its value.
#[test]
fn locks_are_read_and_written() {
    let mutex: Mutex<Vec<u8>> = serde_json::from_str("[1,2]").unwrap();
    mutex.lock().push(3);
    assert_eq!(serde_json::to_string(&mutex).unwrap(), "[1,2,3]");
    let lock: RwLock<u32> = serde_json::from_str("7").unwrap();
    assert_eq!(serde_json::to_string(&lock).unwrap(), "7");
    let reentrant: ReentrantMutex<u32> = serde_json::from_str("8").unwrap();
    assert_eq!(serde_json::to_string(&reentrant).unwrap(), "8");
}

/// `owning_ref`: a guard's value stays in place while the guard is moved.
#[test]
fn a_guard_may_own_a_reference() {
    let (mutex, lock) = (Mutex::new(vec![1, 2]), RwLock::new(vec![3, 4]));
    let mut last: OwningRefMut<MutexGuard<'_, Vec<i32>>, i32> =
        OwningRefMut::new(mutex.lock()).map_mut(|all| &mut all[1]);
    *last += 1;
    drop(last);
    let first: OwningRef<RwLockReadGuard<'_, Vec<i32>>, i32> =
        OwningRef::new(lock.read()).map(|all| &all[0]);
    assert_eq!((*first, mutex.into_inner()), (3, vec![1, 3]));
}
