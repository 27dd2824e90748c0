//! Poisoning: which guards poison which lock, and what a poisoned lock returns.

use crate::assert_both;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Unwinds without the hook's message.
fn panics() -> ! {
    resume_unwind(Box::new("a scenario's panic"))
}

/// Whether `work` panics.
fn fails<R>(work: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

/// Calls its function as it is dropped: while the thread panics, for example.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_panic_with_the_lock_held_poisons_a_mutex_until_it_is_cleared() {
    assert_both!(
        {
            let mut mutex = sync::Mutex::new(1);
            let fresh = mutex.is_poisoned();
            let failed = fails(|| {
                let mut guard = mutex.lock().unwrap();
                *guard = 2;
                panics()
            });
            let locked = mutex.lock().map(|guard| *guard).map_err(|error| *error.into_inner());
            let tried = match mutex.try_lock() {
                Err(sync::TryLockError::Poisoned(error)) => Err(**error.get_ref()),
                Ok(guard) => Ok(*guard),
                Err(sync::TryLockError::WouldBlock) => Ok(-1),
            };
            let borrowed = mutex.get_mut().map(|value| *value).map_err(|error| *error.into_inner());
            let shown = format!("{mutex:?}");
            let was = mutex.is_poisoned();
            mutex.clear_poison();
            let cleared = (mutex.is_poisoned(), mutex.lock().is_ok());
            (fresh, failed, locked, tried, borrowed, shown, was, cleared)
        },
        (
            false,
            true,
            Err(2),
            Err(2),
            Err(2),
            "Mutex { data: 2, poisoned: true, .. }".to_owned(),
            true,
            (false, true)
        )
    );
}

#[test]
fn a_poisoned_locks_data_comes_out_within_the_error() {
    assert_both!(
        {
            let mutex = sync::Mutex::new(3);
            let rwlock = sync::RwLock::new(4);
            fails(|| mutex.lock().map(|_guard| panics()));
            fails(|| rwlock.write().map(|_guard| panics()));
            let read = rwlock.read().map(|guard| *guard).map_err(|error| *error.into_inner());
            let out = |error: sync::PoisonError<i32>| error.into_inner();
            (read, mutex.into_inner().map_err(out), rwlock.into_inner().map_err(out))
        },
        (Err(4), Err(3), Err(4))
    );
}

#[test]
fn a_reader_that_panics_poisons_nothing_and_a_writer_does() {
    assert_both!(
        {
            let lock = sync::RwLock::new(());
            fails(|| lock.read().map(|_guard| panics()));
            let after_reader = lock.is_poisoned();
            fails(|| lock.write().map(|_guard| panics()));
            // (One after another: the guard within an error holds the lock.)
            let mut poisoned = vec![lock.is_poisoned()];
            poisoned.push(lock.read().is_err());
            poisoned.push(lock.write().is_err());
            poisoned.push(matches!(lock.try_read(), Err(sync::TryLockError::Poisoned(_))));
            poisoned.push(matches!(lock.try_write(), Err(sync::TryLockError::Poisoned(_))));
            lock.clear_poison();
            (after_reader, poisoned, lock.write().is_ok())
        },
        (false, vec![true; 5], true)
    );
}

/// A guard's thread was panicking already when it took the lock.
#[test]
fn a_lock_taken_while_the_thread_panics_isnt_poisoned() {
    assert_both!(
        {
            let (mutex, rwlock) = (sync::Mutex::new(0), sync::RwLock::new(0));
            let failed = fails(|| {
                let _count = OnDrop(|| {
                    *mutex.lock().unwrap() += 1;
                    *rwlock.write().unwrap() += 1;
                });
                panics()
            });
            (failed, mutex.is_poisoned(), rwlock.is_poisoned(), *mutex.lock().unwrap())
        },
        (true, false, false, 1)
    );
}

/// ... not even by a second panic within the first.
#[test]
fn a_panic_within_a_panic_poisons_nothing() {
    assert_both!(
        {
            let mutex = sync::Mutex::new(0);
            let failed = fails(|| {
                let _second = OnDrop(|| {
                    fails(|| mutex.lock().map(|_guard| panics()));
                });
                panics()
            });
            (failed, mutex.is_poisoned())
        },
        (true, false)
    );
}

#[test]
fn a_guard_that_outlives_the_panic_poisons_nothing() {
    assert_both!(
        {
            let mutex = sync::Mutex::new(0);
            // Taken before, and dropped after it.
            let guard = mutex.lock().unwrap();
            fails(|| panics());
            drop(guard);
            let before_and_after = mutex.is_poisoned();
            // Taken while the thread panics, and dropped afterwards.
            let mut kept = None;
            fails(|| {
                let _takes = OnDrop(|| kept = Some(mutex.lock().unwrap()));
                panics()
            });
            drop(kept);
            let during_and_after = mutex.is_poisoned();
            // Taken before, and dropped by a destructor in the course of the panic.
            let mut guard = Some(mutex.lock().unwrap());
            fails(|| {
                let _drops = OnDrop(|| drop(guard.take()));
                panics()
            });
            (before_and_after, during_and_after, mutex.is_poisoned())
        },
        (false, false, true)
    );
}

/// The guard changes without being dropped, and a reader's poisons nothing. (std's `downgrade` is
/// newer than Rust 1.85; it does the same.)
#[test]
fn a_writer_that_became_a_reader_poisons_nothing() {
    use furwock::std_compat::{RwLock, RwLockWriteGuard};
    let lock = RwLock::new(1);
    assert!(fails(|| {
        let mut guard = lock.write().unwrap();
        *guard = 2;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 2);
        panics()
    }));
    assert!(!lock.is_poisoned());
}

#[test]
fn a_waiter_gets_the_poison_of_the_thread_that_woke_it() {
    assert_both!(
        {
            let (mutex, condvar) = (sync::Mutex::new(false), sync::Condvar::new());
            std::thread::scope(|scope| {
                let guard = mutex.lock().unwrap();
                let panicking = scope.spawn(|| {
                    fails(|| {
                        let mut guard = mutex.lock().unwrap();
                        *guard = true;
                        condvar.notify_all();
                        panics()
                    })
                });
                let waited = condvar.wait_while(guard, |is_set| !*is_set);
                // The waiter's next look at the flag ends its wait, spurious wakeups or not.
                let poisoned = waited.map(|guard| *guard).map_err(|error| *error.into_inner());
                (panicking.join().unwrap(), poisoned)
            })
        },
        (true, Err(true))
    );
}

#[test]
fn all_waits_return_the_guard_of_a_poisoned_mutex_within_the_error() {
    use std::time::Duration;
    const SHORT: Duration = Duration::from_millis(1);
    assert_both!(
        {
            let (mutex, condvar) = (sync::Mutex::new(7), sync::Condvar::new());
            fails(|| mutex.lock().map(|_guard| panics()));
            let guard = || mutex.lock().unwrap_or_else(sync::PoisonError::into_inner);
            let first = condvar.wait_timeout(guard(), SHORT).map(drop);
            let first = first.map_err(|error| *error.into_inner().0);
            // One wait, and not as long as the condition holds: `?` leaves at once.
            let second = condvar.wait_timeout_while(guard(), SHORT, |_| true).map(drop);
            let second = second.map_err(|error| *error.into_inner().0);
            #[allow(deprecated)]
            let third = condvar.wait_timeout_ms(guard(), 1).map(drop);
            let third = third.map_err(|error| *error.into_inner().0);
            // No wait, no error.
            let fourth = condvar.wait_while(guard(), |_| false).map(|guard| *guard);
            let fourth = fourth.map_err(|error| *error.into_inner());
            (first, second, third, fourth)
        },
        (Err(7), Err(7), Err(7), Ok(7))
    );
}

#[test]
fn a_condition_that_panics_poisons_the_mutex() {
    assert_both!(
        {
            let (mutex, condvar) = (sync::Mutex::new(0), sync::Condvar::new());
            let failed = fails(|| condvar.wait_while(mutex.lock().unwrap(), |_| panics()));
            (failed, mutex.is_poisoned())
        },
        (true, true)
    );
}

#[test]
fn errors_convert_as_stds_do() {
    use furwock::std_compat::{Mutex, MutexGuard, PoisonError, TryLockError};
    static MUTEX: Mutex<i32> = Mutex::new(5);
    type Guard = MutexGuard<'static, i32>;

    fn by_question_mark() -> Result<i32, Box<dyn std::error::Error>> {
        Ok(*MUTEX.lock()? + *MUTEX.try_lock()?)
    }
    fn as_stds(error: std::sync::PoisonError<Guard>) -> std::sync::TryLockError<Guard> {
        error.into()
    }

    // (The first guard lives until the sum is made.)
    let error = by_question_mark().unwrap_err();
    assert!(error.downcast_ref::<TryLockError<Guard>>().is_some(), "{error}");
    fails(|| MUTEX.lock().map(|_guard| panics()));
    let error = by_question_mark().unwrap_err();
    assert!(error.downcast_ref::<PoisonError<Guard>>().is_some(), "{error}");
    drop(error);
    let error = MUTEX.lock().unwrap_err();
    assert_eq!(error.to_string(), "poisoned lock: another task failed inside");
    assert_eq!(format!("{error:?}"), "PoisonError { .. }");
    assert!(matches!(as_stds(error), std::sync::TryLockError::Poisoned(_)));
    MUTEX.clear_poison();
}
