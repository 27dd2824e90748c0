//! Threads that wait: for locks, for notifications, for time, for each other.

use crate::assert_both;
use crate::common::{bounded, eventually, together};
use furwock::inspect::Inspect;
use furwock::std_compat::{Barrier, Condvar, Mutex, RwLock};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn locks_exclude() {
    bounded(|| {
        const ROUNDS: u64 = 20_000;
        let (mutex, rwlock) = (Mutex::new(0), RwLock::new((0, 0)));
        together(4, |number| {
            for _ in 0..ROUNDS {
                *mutex.lock().unwrap() += 1;
                if number % 2 == 0 {
                    let mut pair = rwlock.write().unwrap();
                    pair.0 += 1;
                    pair.1 += 1;
                } else {
                    let pair = rwlock.read().unwrap();
                    assert_eq!(pair.0, pair.1);
                }
            }
        });
        assert_eq!(mutex.into_inner().unwrap(), 4 * ROUNDS);
        assert_eq!(rwlock.into_inner().unwrap().0, 2 * ROUNDS);
    });
}

#[test]
fn tries_fail_while_another_thread_is_inside() {
    assert_both!(
        {
            let (mutex, rwlock) = (sync::Mutex::new(()), sync::RwLock::new(()));
            let elsewhere = |work: &(dyn Fn() -> bool + Sync)| {
                thread::scope(|scope| scope.spawn(work).join().unwrap())
            };
            let (_locked, read) = (mutex.lock().unwrap(), rwlock.read().unwrap());
            let mutex =
                elsewhere(&|| matches!(mutex.try_lock(), Err(sync::TryLockError::WouldBlock)));
            let beside_reader = (
                elsewhere(&|| rwlock.try_read().is_ok()),
                elsewhere(&|| matches!(rwlock.try_write(), Err(sync::TryLockError::WouldBlock))),
            );
            drop(read);
            let _written = rwlock.write().unwrap();
            let beside_writer = (
                elsewhere(&|| matches!(rwlock.try_read(), Err(sync::TryLockError::WouldBlock))),
                elsewhere(&|| matches!(rwlock.try_write(), Err(sync::TryLockError::WouldBlock))),
            );
            (mutex, beside_reader, beside_writer)
        },
        (true, (true, true), (true, true))
    );
}

#[test]
fn waits_in_vain_take_their_time_and_say_so() {
    const TIME: Duration = Duration::from_millis(30);
    bounded(|| {
        let (mutex, condvar) = (Mutex::new(0), Condvar::new());
        let started = Instant::now();
        let mut guard = mutex.lock().unwrap();
        let mut timed_out = false;
        while !timed_out {
            let (next, result) = condvar.wait_timeout(guard, TIME).unwrap();
            (guard, timed_out) = (next, result.timed_out());
        }
        assert!(started.elapsed() >= TIME);

        let started = Instant::now();
        let waited = condvar.wait_timeout_while(guard, TIME, |_| true).unwrap();
        assert!(waited.1.timed_out() && started.elapsed() >= TIME);

        // The time is over at once, and the mutex isn't released for it.
        let tries = AtomicUsize::new(0);
        let (guard, result) = condvar
            .wait_timeout_while(waited.0, Duration::ZERO, |_| {
                tries.fetch_add(1, Ordering::Relaxed);
                mutex.try_lock().is_err()
            })
            .unwrap();
        assert!(result.timed_out());
        assert_eq!(tries.into_inner(), 1);

        // What is so already needs no wait.
        let (guard, result) = condvar.wait_timeout_while(guard, TIME, |_| false).unwrap();
        assert!(!result.timed_out());
        #[allow(deprecated)]
        let notified = condvar.wait_timeout_ms(guard, 1).unwrap().1;
        assert!(!notified);
    });
}

#[test]
fn a_notification_ends_the_longest_wait() {
    bounded(|| {
        let (mutex, condvar) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            let waiters: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let guard = mutex.lock().unwrap();
                        let forever = Duration::MAX;
                        condvar.wait_timeout_while(guard, forever, |is_set| !*is_set).unwrap().1
                    })
                })
                .collect();
            eventually("both wait", || condvar.inspect().waiters.len() == 2);
            *mutex.lock().unwrap() = true;
            condvar.notify_one();
            eventually("one has gone on", || waiters.iter().any(|waiter| waiter.is_finished()));
            condvar.notify_all();
            for waiter in waiters {
                assert!(!waiter.join().unwrap().timed_out());
            }
        });
    });
}

#[test]
fn a_condvar_serves_two_mutexes_at_once() {
    bounded(|| {
        let (mutexes, condvar) = ([Mutex::new(false), Mutex::new(false)], Condvar::new());
        thread::scope(|scope| {
            for mutex in &mutexes {
                scope.spawn(|| {
                    let guard = mutex.lock().unwrap();
                    assert!(*condvar.wait_while(guard, |is_set| !*is_set).unwrap());
                });
            }
            eventually("both wait", || condvar.inspect().waiters.len() == 2);
            for mutex in &mutexes {
                *mutex.lock().unwrap() = true;
            }
            condvar.notify_all();
        });
    });
}

/// A second thread tries to write all the time. (That there is no gap, however short, is for the
/// raw lock's models to show.)
#[test]
fn a_writer_that_has_become_a_reader_keeps_writers_out() {
    bounded(|| {
        use furwock::std_compat::RwLockWriteGuard;
        let (lock, done) = (RwLock::new(0_u64), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if let Ok(mut writer) = lock.try_write() {
                        *writer += 1;
                    }
                }
            });
            for _ in 0..100_000 {
                let mut writer = lock.write().unwrap();
                *writer += 1;
                let written = *writer;
                let reader = RwLockWriteGuard::downgrade(writer);
                if *reader != written {
                    done.store(true, Ordering::Relaxed);
                    panic!("{} instead of {written}", *reader);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(lock.into_inner().unwrap() >= 100_000);
    });
}

#[test]
fn a_barrier_has_one_leader_a_round() {
    bounded(|| {
        const THREADS: usize = 5;
        let (barrier, leaders) = (Barrier::new(THREADS), AtomicUsize::new(0));
        together(THREADS as u64, |_| {
            for round in 1..=200 {
                if barrier.wait().is_leader() {
                    leaders.fetch_add(1, Ordering::Relaxed);
                }
                barrier.wait();
                assert_eq!(leaders.load(Ordering::Relaxed), round);
                barrier.wait();
            }
        });
    });
}

/// More threads than fit in the raw barrier's count.
#[test]
fn a_barrier_for_too_many_threads_doesnt_open() {
    let barrier = Barrier::new(usize::MAX);
    let thread = thread::spawn(move || barrier.wait().is_leader());
    thread::sleep(Duration::from_millis(20));
    assert!(!thread.is_finished());
}
