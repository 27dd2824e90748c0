//! What std's types promise beside what they do: unwind safety, `Send` and `Sync`, what `Debug`
//! prints; and guards of parts, unsized data.

use furwock::{
    Barrier, Condvar, LazyLock, MappedPiMutexGuard, MappedRobustMutexGuard,
    MappedRobustRwLockWriteGuard, Mutex, Once, OnceLock, OwnedSemaphorePermit, Parker, PiCondvar,
    PiMutex, PiMutexGuard, RobustError, RobustMutex, RobustMutexGuard, RobustRwLock,
    RobustRwLockReadGuard, RobustRwLockWriteGuard, Semaphore, SemaphorePermit, Unparker,
};
use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;

fn unwinds<T: UnwindSafe + RefUnwindSafe + ?Sized>() {}
fn is_sent<T: Send>() {}
fn is_shared<T: Send + Sync>() {}

/// A value that no unwind may leave half done, unless a lock is around it.
type Fragile = Cell<u32>;

#[test]
fn types_of_this_crate_are_unwind_safe() {
    unwinds::<PiMutex<Fragile>>();
    unwinds::<PiMutex<[Fragile]>>();
    unwinds::<RobustMutex<Fragile>>();
    unwinds::<RobustRwLock<Fragile>>();
    unwinds::<Condvar>();
    unwinds::<PiCondvar>();
    unwinds::<Semaphore>();
    unwinds::<SemaphorePermit<'_>>();
    unwinds::<Barrier>();
    unwinds::<Once>();
    unwinds::<OnceLock<u32>>();
    unwinds::<LazyLock<u32>>();
    unwinds::<Unparker>();
}

#[test]
fn types_are_sent_and_shared_as_stds() {
    is_shared::<Once>();
    is_shared::<OnceLock<u32>>();
    is_sent::<OnceLock<Fragile>>();
    is_shared::<LazyLock<u32>>();
    is_shared::<Semaphore>();
    is_shared::<SemaphorePermit<'static>>();
    is_shared::<OwnedSemaphorePermit>();
    is_shared::<Unparker>();
    is_sent::<Parker>();
    is_shared::<Barrier>();
    is_shared::<Condvar>();
}

#[test]
fn debug_prints_what_stds_prints() {
    let same = |ours: &dyn std::fmt::Debug, stds: &dyn std::fmt::Debug| {
        assert_eq!(format!("{ours:?}"), format!("{stds:?}"));
    };
    same(&Once::new(), &std::sync::Once::new());
    same(&Condvar::new(), &std::sync::Condvar::new());
    same(&Barrier::new(1), &std::sync::Barrier::new(1));
    same(&Barrier::new(1).wait(), &std::sync::Barrier::new(1).wait());
    same(&OnceLock::<u32>::new(), &std::sync::OnceLock::<u32>::new());
    same(&LazyLock::new(|| 1), &std::sync::LazyLock::new(|| 1));
    // As parking_lot's: std's says whether it is poisoned, too.
    let (plain, inheriting) = (Mutex::new(1), PiMutex::new(1));
    assert_eq!(format!("{plain:?}").replace("Mutex", "PiMutex"), format!("{inheriting:?}"));
    let _held = (plain.lock(), inheriting.lock().unwrap());
    assert_eq!(format!("{plain:?}").replace("Mutex", "PiMutex"), format!("{inheriting:?}"));
}

#[test]
fn a_pi_mutex_stays_held_by_a_guard_of_a_part() {
    let list: Box<PiMutex<[u32]>> = Box::new(PiMutex::new([1, 2, 3]));
    let second: MappedPiMutexGuard<'_, u32> =
        PiMutexGuard::map(list.lock().unwrap(), |list| &mut list[1]);
    let Err(mut second) = MappedPiMutexGuard::try_map(second, |_| None::<&mut u32>) else {
        panic!("there is no such part");
    };
    *second += 5;
    assert!(list.is_locked() && !MappedPiMutexGuard::owner_died(&second));
    assert_eq!(format!("{second} {second:?}"), "7 7");
    drop(second);
    assert!(!list.is_locked());
    let refused = PiMutexGuard::try_map(list.lock().unwrap(), |list| list.get_mut(9));
    assert_eq!(*refused.unwrap_err(), [1, 7, 3]);
    assert!(!list.is_locked());
}

#[test]
fn a_robust_mutex_stays_held_by_a_guard_of_a_part() {
    let list: Pin<Box<RobustMutex<[u32]>>> = Box::pin(RobustMutex::new([1, 2, 3]));
    let list = list.as_ref();
    let second: MappedRobustMutexGuard<'_, u32> =
        RobustMutexGuard::map(list.lock().unwrap(), |list| &mut list[1]);
    let mut second = MappedRobustMutexGuard::map(second, |second| second);
    *second += 5;
    assert!(list.is_locked() && !MappedRobustMutexGuard::make_consistent(&mut second));
    drop(second);
    assert!(!list.is_locked());
    let refused = RobustMutexGuard::try_map(list.lock().unwrap(), |list| list.get_mut(9));
    assert_eq!(*refused.unwrap_err(), [1, 7, 3]);
}

/// A thread that dies with a guard of a part is reported as one that dies with the whole.
#[test]
fn a_death_with_a_guard_of_a_part_is_reported() {
    let pair = Arc::pin(RobustMutex::new((1, 2)));
    let other = pair.clone();
    thread::spawn(move || {
        let guard = other.as_ref().lock().unwrap();
        std::mem::forget(RobustMutexGuard::map(guard, |pair| &mut pair.0));
    })
    .join()
    .unwrap();
    let Err(RobustError::OwnerDied(guard)) = pair.as_ref().lock() else {
        panic!("the death goes unnoticed");
    };
    let mut first = RobustMutexGuard::map(guard, |pair| &mut pair.0);
    *first = 7;
    assert!(MappedRobustMutexGuard::make_consistent(&mut first));
    drop(first);
    assert_eq!(*pair.as_ref().lock().unwrap(), (7, 2));
}

#[test]
fn a_robust_rwlock_stays_held_by_guards_of_parts() {
    let list: Pin<Box<RobustRwLock<[u32]>>> = Box::pin(RobustRwLock::new([1, 2, 3]));
    let list = list.as_ref();
    let first = RobustRwLockReadGuard::map(list.read().unwrap(), |list| &list[0]);
    let last = RobustRwLockReadGuard::try_map(list.read().unwrap(), |list| list.last()).unwrap();
    assert!(list.try_write().is_err());
    assert_eq!(*first + *last, 4);
    drop((first, last));
    let mut last: MappedRobustRwLockWriteGuard<'_, u32> =
        RobustRwLockWriteGuard::map(list.write().unwrap(), |list| &mut list[2]);
    *last += 1;
    assert!(list.try_read().is_err());
    assert!(!MappedRobustRwLockWriteGuard::make_consistent(&mut last));
    drop(last);
    assert_eq!(*list.read().unwrap(), [1, 2, 4]);
}
