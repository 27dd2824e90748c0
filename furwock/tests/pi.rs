//! The PI mutex and condvar: what they have in common with other locks, and what only the kernel
//! can do. `pi_inversion` shows that priorities are inherited; `pi_processes` has several
//! processes.

mod common;

use common::{
    asleep, bounded, deadlines, elsewhere, eventually, is_asleep, join_all, kept, let_interrupt,
    past, task_status, together,
};
use furwock::lock::Outcome;
use furwock::lock::pi::{self, Acquired, PiError, RawPiCondvar, RawPiMutex, Scope};
use furwock::{Deadline, PiCondvar, PiMutex, PiMutexGuard};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn shared_in(scope: Scope) {
    bounded(move || {
        let count = PiMutex::with_scope(scope, 0u64);
        together(8, |number| {
            for round in 0..5_000 {
                let short = Duration::from_micros(50);
                let guard = match (round + number) % 3 {
                    0 => count.lock().ok(),
                    1 => count.try_lock(),
                    _ => count.try_lock_for(short).ok(),
                };
                *guard.unwrap_or_else(|| count.lock().unwrap()) += 1;
            }
        });
        assert_eq!(*count.lock().unwrap(), 8 * 5_000);
    });
}

#[test]
fn eight_threads_count_together() {
    shared_in(Scope::Private);
    shared_in(Scope::Shared);
}

#[test]
fn a_held_mutex_is_not_to_be_had_on_either_clock() {
    bounded(|| {
        let mutex = PiMutex::new(());
        let guard = mutex.lock().unwrap();
        assert!(mutex.is_locked());
        elsewhere(|| {
            assert!(mutex.try_lock().is_none());
            for deadline in deadlines(Duration::from_millis(30)) {
                assert_eq!(mutex.try_lock_until(deadline).err(), Some(PiError::TimedOut));
                assert!(deadline.has_passed());
            }
            assert_eq!(mutex.try_lock_until(past()).err(), Some(PiError::TimedOut));
        });
        drop(guard);
        assert!(mutex.try_lock_for(Duration::ZERO).is_ok());
        assert!(!mutex.is_locked());
    });
}

#[test]
fn only_the_owner_releases() {
    bounded(|| {
        let mutex = RawPiMutex::new(Scope::Private);
        assert_eq!(mutex.unlock(), Err(PiError::NotOwner));
        assert_eq!(mutex.lock(), Ok(Acquired::Properly));
        assert_eq!(mutex.owner(), furwock::lock::thread_id());
        elsewhere(|| assert_eq!(mutex.unlock(), Err(PiError::NotOwner)));
        assert_eq!(mutex.unlock(), Ok(()));
        assert_eq!(mutex.owner(), 0);
    });
}

#[test]
fn a_panic_releases_without_poison() {
    let mutex = kept(PiMutex::new(1));
    let result = thread::spawn(|| {
        let _guard = mutex.lock().unwrap();
        panic!("on purpose, with the lock held");
    });
    assert!(result.join().is_err());
    assert_eq!(*mutex.lock().unwrap(), 1);
}

#[test]
fn relocking_is_reported_as_a_deadlock() {
    bounded(|| {
        let mutex = PiMutex::new(());
        let guard = mutex.lock().unwrap();
        assert_eq!(mutex.lock().err(), Some(PiError::Deadlock));
        for deadline in deadlines(Duration::from_secs(60)) {
            assert_eq!(mutex.try_lock_until(deadline).err(), Some(PiError::Deadlock));
        }
        assert!(mutex.try_lock().is_none());
        drop(guard);
        assert!(mutex.try_lock().is_some());
    });
}

/// Two threads take two mutexes in opposite orders: one of them gets an error, and gives way. Both
/// may: the kernel queues a thread before it looks for a circle, and both then see the whole of it.
#[test]
fn a_circle_of_two_is_reported_as_a_deadlock() {
    bounded(|| {
        let mutexes = [PiMutex::new(()), PiMutex::new(())];
        let both = Barrier::new(2);
        let errors = together(2, |first| {
            let _own = mutexes[first as usize].lock().unwrap();
            both.wait();
            mutexes[1 - first as usize].lock().err()
        });
        assert!(errors.contains(&Some(PiError::Deadlock)), "{errors:?}");
        assert!(errors.iter().flatten().all(|error| *error == PiError::Deadlock), "{errors:?}");
        assert!(mutexes.iter().all(|mutex| !mutex.is_locked()));
    });
}

#[test]
fn an_owner_that_ended_is_reported() {
    bounded(|| {
        let mutex = kept(PiMutex::new(()));
        let waits = kept(AtomicU32::new(0));
        // With a waiter in the kernel the lock passes to it.
        let dies = thread::spawn(|| {
            std::mem::forget(mutex.lock().unwrap());
            waits.store(u32::MAX, Ordering::SeqCst);
            eventually("the other waits", || is_asleep(waits.load(Ordering::SeqCst)));
        });
        eventually("it is locked", || waits.load(Ordering::SeqCst) == u32::MAX);
        waits.store(furwock::lock::thread_id(), Ordering::SeqCst);
        let guard = mutex.lock().unwrap();
        assert!(PiMutexGuard::owner_died(&guard));
        dies.join().unwrap();
        drop(guard);
        assert!(!PiMutexGuard::owner_died(&mutex.lock().unwrap()));
        // Without one it stays locked.
        let tid = elsewhere(|| {
            std::mem::forget(mutex.lock().unwrap());
            furwock::lock::thread_id()
        });
        eventually("the kernel has forgotten the thread", || task_status(tid).is_none());
        assert_eq!(mutex.lock().err(), Some(PiError::OwnerGone));
        assert!(mutex.try_lock().is_none());
    });
}

#[test]
fn a_word_of_the_robust_list_is_taken_over() {
    // The kernel leaves this in a word that it finds on a dead owner's robust list. Zeroed memory
    // is a mutex, so one with such a word can be made up.
    let words = [AtomicU32::new(libc::FUTEX_OWNER_DIED), AtomicU32::new(0)];
    // SAFETY: repr(C) with two 32-bit words, of which the second is 0: shared.
    let mutex = unsafe { &*words.as_ptr().cast::<RawPiMutex>() };
    assert_eq!(mutex.scope(), Scope::Shared);
    assert_eq!(mutex.try_lock(), Some(Acquired::OwnerDied));
    assert_eq!(words[0].load(Ordering::SeqCst), furwock::lock::thread_id());
    assert_eq!(mutex.unlock(), Ok(()));
    words[0].store(libc::FUTEX_OWNER_DIED, Ordering::SeqCst);
    assert_eq!(mutex.lock(), Ok(Acquired::OwnerDied));
    assert_eq!(mutex.unlock(), Ok(()));
    assert_eq!(words[0].load(Ordering::SeqCst), 0);
}

#[test]
fn raw_requeueing_moves_to_the_mutex_named() {
    bounded(|| {
        let word = kept(AtomicU32::new(7));
        let mutexes = kept([0, 1].map(|_| RawPiMutex::new(Scope::Private)));
        assert_eq!(pi::wait_requeue(word, 8, &mutexes[0], None), Err(PiError::Mismatch));
        assert_eq!(pi::compare_requeue(word, 8, 0, &mutexes[0]), Err(PiError::Mismatch));
        assert_eq!(pi::compare_requeue(word, 7, 0, &mutexes[0]), Ok(0));
        for deadline in deadlines(Duration::from_millis(10)) {
            let waited = pi::wait_requeue(word, 7, &mutexes[0], Some(&deadline));
            assert_eq!(waited, Err(PiError::TimedOut));
        }
        let waiter = asleep(|| {
            assert_eq!(pi::wait_requeue(word, 7, &mutexes[0], None), Ok(Acquired::Properly));
            assert_eq!(mutexes[0].owner(), furwock::lock::thread_id());
            mutexes[0].unlock().unwrap();
        });
        assert_eq!(pi::compare_requeue(word, 7, 0, &mutexes[1]), Err(PiError::Corrupt));
        assert_eq!(pi::compare_requeue(word, 7, 0, &mutexes[0]), Ok(1));
        waiter.join().unwrap();
        assert!(!mutexes[0].is_locked());
    });
}

#[test]
fn waits_end_by_notification_or_time_on_either_clock() {
    bounded(|| {
        let (mutex, condvar) = (PiMutex::new(()), PiCondvar::new());
        assert_eq!(condvar.notify_one(), Ok(false));
        assert_eq!(condvar.notify_all(), Ok(0));
        let mut guard = mutex.lock().unwrap();
        for deadline in deadlines(Duration::from_millis(20)) {
            let result;
            (guard, result) = condvar.wait_until(guard, deadline).unwrap();
            assert!(result.timed_out() && deadline.has_passed());
        }
        let short = Duration::from_millis(20);
        let (guard, result) = condvar.wait_while_for(guard, |()| true, short).unwrap();
        assert!(result.timed_out());
        let (guard, result) = condvar.wait_while_for(guard, |()| false, short).unwrap();
        assert!(!result.timed_out() && mutex.is_locked());
        drop(guard);
    });
}

#[test]
fn a_wait_without_the_mutex_is_refused() {
    let (mutex, condvar) = (RawPiMutex::new(Scope::Private), RawPiCondvar::new());
    assert_eq!(condvar.wait(&mutex, None), Err(PiError::NotOwner));
    assert_eq!(condvar.notify_all(), Ok(0));
}

/// `count` threads wait; `notify` lets them go, called with the mutex held or not.
fn let_go(count: usize, held: bool, scope: Scope, notify: fn(&PiCondvar, usize)) {
    bounded(move || {
        let (mutex, condvar) = kept((PiMutex::with_scope(scope, (0, false)), PiCondvar::new()));
        let wait = || {
            let mut state = mutex.lock().unwrap();
            state.0 += 1;
            drop(condvar.wait_while(state, |state| !state.1).unwrap());
        };
        let waiters: Vec<_> = (0..count).map(|_| thread::spawn(wait)).collect();
        eventually("all wait", || mutex.lock().unwrap().0 == count);
        let mut state = mutex.lock().unwrap();
        state.1 = true;
        let held = held.then_some(state);
        notify(condvar, count);
        drop(held);
        join_all(waiters);
        assert!(!mutex.is_locked());
        assert_eq!(condvar.notify_all(), Ok(0));
    });
}

#[test]
fn a_broadcast_lets_all_go() {
    for count in [1, 2, 40] {
        for scope in [Scope::Private, Scope::Shared] {
            for held in [false, true] {
                let_go(count, held, scope, |condvar, count| {
                    assert!(condvar.notify_all().unwrap() <= count);
                });
            }
        }
    }
}

#[test]
fn as_many_signals_as_waiters_let_all_go() {
    for held in [false, true] {
        let_go(20, held, Scope::Private, |condvar, count| {
            (0..count).for_each(|_| _ = condvar.notify_one().unwrap());
        });
    }
}

/// A broadcast under the mutex wakes no waiter; the mutex then goes from one to the next.
#[test]
fn a_broadcast_wakes_no_swarm() {
    const WAITERS: usize = 8;
    bounded(|| {
        let (mutex, condvar) = kept((PiMutex::new(Vec::new()), PiCondvar::new()));
        let wait = || {
            let mut tids = mutex.lock().unwrap();
            tids.push(furwock::lock::thread_id());
            drop(condvar.wait(tids).unwrap());
        };
        let waiters: Vec<_> = (0..WAITERS).map(|_| thread::spawn(wait)).collect();
        eventually("all wait", || mutex.lock().unwrap().len() == WAITERS);
        let tids = mutex.lock().unwrap().clone();
        let switches = || -> Vec<_> { tids.iter().map(|tid| voluntary_switches(*tid)).collect() };
        eventually("all sleep", || {
            let before = switches();
            thread::sleep(Duration::from_millis(5));
            tids.iter().all(|tid| is_asleep(*tid)) && switches() == before
        });
        let guard = mutex.lock().unwrap();
        let before = switches();
        assert_eq!(condvar.notify_all(), Ok(WAITERS));
        thread::sleep(Duration::from_millis(30));
        assert!(tids.iter().all(|tid| is_asleep(*tid)));
        assert_eq!(switches(), before);
        drop(guard);
        join_all(waiters);
    });
}

/// One condvar, two mutexes: a waiter with the second gets an error. Without waiters the condvar is
/// free for the other mutex, and may be moved.
#[test]
fn a_second_mutex_is_refused_while_there_are_waiters() {
    bounded(|| {
        let (mutexes, condvar) = ([0, 1].map(PiMutex::new), PiCondvar::new());
        let waits = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let guard = mutexes[0].lock().unwrap();
                waits.store(furwock::lock::thread_id(), Ordering::SeqCst);
                drop(condvar.wait_while(guard, |value| *value == 0).unwrap());
            });
            eventually("it waits", || is_asleep(waits.load(Ordering::SeqCst)));
            let refused = condvar.wait(mutexes[1].lock().unwrap()).err();
            assert_eq!(refused, Some(PiError::OtherMutex));
            assert!(!mutexes[1].is_locked());
            *mutexes[0].lock().unwrap() = 1;
            condvar.notify_one().unwrap();
        });
        let moved = Box::new(condvar);
        let short = Duration::from_millis(1);
        assert!(moved.wait_for(mutexes[1].lock().unwrap(), short).unwrap().1.timed_out());
    });
}

/// A waiter that can't lock its mutex again, because of a deadlock, leaves nothing in the condvar.
#[test]
fn a_waiter_that_is_told_of_a_deadlock_is_not_counted() {
    bounded(|| {
        let (mutex, held, condvar) = kept((PiMutex::new(()), PiMutex::new(()), PiCondvar::new()));
        let waiter = asleep(|| {
            let held = held.lock().unwrap();
            let guard = mutex.lock().unwrap();
            let soon = Duration::from_millis(300);
            assert_eq!(condvar.wait_for(guard, soon).err(), Some(PiError::Deadlock));
            drop(held);
        });
        let guard = mutex.lock().unwrap();
        // This closes the circle once the waiter wants its mutex back.
        drop(held.lock().unwrap());
        drop(guard);
        waiter.join().unwrap();
        assert!(!mutex.is_locked());
        let other = PiMutex::new(());
        let short = Duration::from_millis(1);
        assert!(condvar.wait_for(other.lock().unwrap(), short).unwrap().1.timed_out());
    });
}

/// A waiter gets the mutex from an owner that died, finds that it has to wait on, and hears of the
/// death when its wait is over.
#[test]
fn a_wait_on_a_condition_reports_a_death_on_the_way() {
    for timed in [false, true] {
        bounded(move || {
            let (mutex, condvar) = kept((PiMutex::new(false), PiCondvar::new()));
            let looks = kept(AtomicU32::new(0));
            let has_looked =
                |count| eventually("it has looked", || looks.load(Ordering::SeqCst) == count);
            let waiter = thread::spawn(move || {
                let shut = |open: &mut bool| {
                    looks.fetch_add(1, Ordering::SeqCst);
                    !*open
                };
                let (guard, long) = (mutex.lock().unwrap(), Duration::from_secs(60));
                let guard = if timed {
                    condvar.wait_while_for(guard, shut, long).unwrap().0
                } else {
                    condvar.wait_while(guard, shut).unwrap()
                };
                PiMutexGuard::owner_died(&guard)
            });
            has_looked(1);
            thread::spawn(|| {
                let guard = mutex.lock().unwrap();
                // Once the waiter sleeps: it is in the mutex's queue when this thread ends.
                eventually("moved", || condvar.notify_one() == Ok(true));
                std::mem::forget(guard);
            });
            has_looked(2);
            *mutex.lock().unwrap() = true;
            condvar.notify_one().unwrap();
            assert!(waiter.join().unwrap());
            assert!(!PiMutexGuard::owner_died(&mutex.lock().unwrap()));
        });
    }
}

/// Producers and consumers, some with waits that are too short: every item arrives once. They
/// notify outside the mutex, so that notifications meet one another and waiters on their way to
/// sleep.
#[test]
fn a_bounded_queue_loses_nothing() {
    const ITEMS: u64 = 8_000;
    struct Queue {
        items: PiMutex<Vec<u64>>,
        not_empty: PiCondvar,
        not_full: PiCondvar,
    }
    bounded(|| {
        let queue = Queue {
            items: PiMutex::new(Vec::new()),
            not_empty: PiCondvar::new(),
            not_full: PiCondvar::new(),
        };
        let produce = |item| {
            let items = queue.items.lock().unwrap();
            let full = |items: &mut Vec<_>| items.len() == 8;
            queue.not_full.wait_while(items, full).unwrap().push(item);
            queue.not_empty.notify_one().unwrap();
            0
        };
        let consume = |timed| {
            let mut items = queue.items.lock().unwrap();
            while items.is_empty() {
                // Two of them wait without a deadline: a signal that a waiter takes along as it
                // times out would leave one asleep.
                items = if timed {
                    let short = Duration::from_micros(30);
                    queue.not_empty.wait_for(items, short).unwrap().0
                } else {
                    queue.not_empty.wait(items).unwrap()
                };
            }
            let item = items.pop().unwrap();
            drop(items);
            queue.not_full.notify_one().unwrap();
            item
        };
        let sums = together(8, |number| {
            let part = (number % 4..ITEMS).step_by(4);
            part.map(|item| if number < 4 { produce(item) } else { consume(number > 5) })
                .sum::<u64>()
        });
        let sum: u64 = sums.into_iter().sum();
        assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
    });
}

/// A handler that interrupts waiters, before and after they have been moved.
#[test]
fn signal_handlers_lose_no_notification() {
    let_interrupt(libc::SIGUSR2);
    bounded(|| {
        const ROUNDS: u32 = 800;
        let (mutex, condvar) = kept((PiMutex::new(0u32), PiCondvar::new()));
        let pthread = kept(AtomicUsize::new(0));
        let waiter = thread::spawn(|| {
            // SAFETY: always succeeds.
            pthread.store(unsafe { libc::pthread_self() } as usize, Ordering::SeqCst);
            for round in 1..=ROUNDS {
                let turn = mutex.lock().unwrap();
                let mut turn = condvar.wait_while(turn, |turn| *turn != 2 * round - 1).unwrap();
                *turn += 1;
                drop(turn);
                condvar.notify_all().unwrap();
            }
        });
        eventually("it has started", || pthread.load(Ordering::SeqCst) != 0);
        let pthread = pthread.load(Ordering::SeqCst) as libc::pthread_t;
        for round in 1..=ROUNDS {
            let mut turn = mutex.lock().unwrap();
            *turn += 1;
            condvar.notify_one().unwrap();
            // SAFETY: the thread can't end before this turn is over.
            unsafe { libc::pthread_kill(pthread, libc::SIGUSR2) };
            drop(condvar.wait_while(turn, |turn| *turn != 2 * round).unwrap());
        }
        waiter.join().unwrap();
    });
}

#[test]
fn a_timed_wait_tells_of_a_notification() {
    bounded(|| {
        // The waiter is moved to a mutex that stays held beyond its deadline.
        let (mutex, condvar) = kept((RawPiMutex::new(Scope::Private), RawPiCondvar::new()));
        let waiter = asleep(|| {
            mutex.lock().unwrap();
            let deadline = Deadline::after(Duration::from_millis(200));
            let waited = condvar.wait(mutex, Some(&deadline)).unwrap();
            mutex.unlock().unwrap();
            waited.outcome
        });
        mutex.lock().unwrap();
        let moved = condvar.notify_one().unwrap();
        thread::sleep(Duration::from_millis(250));
        mutex.unlock().unwrap();
        let outcome = waiter.join().unwrap();
        assert!(!moved || outcome == Outcome::Signalled);
    });
}

fn voluntary_switches(tid: u32) -> u64 {
    let status = task_status(tid).expect("a live thread");
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).expect("a count")
}
