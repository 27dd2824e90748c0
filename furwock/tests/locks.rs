//! The typed mutex and condvar, and the raw ones beneath them.

mod common;

use common::{bounded, burn, elsewhere, eventually, join_all, kept, together};
use furwock::lock::{Options, RawMutex};
use furwock::{Condvar, Deadline, Mutex};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn sixteen_threads_count_together() {
    bounded(|| {
        let count = Mutex::new(0u64);
        together(16, |number| {
            for round in 0..20_000 {
                let guard = match (round + number) % 3 {
                    0 => Some(count.lock()),
                    1 => count.try_lock(),
                    _ => count.try_lock_for(Duration::from_micros(50)),
                };
                *guard.unwrap_or_else(|| count.lock()) += 1;
            }
        });
        assert_eq!(*count.lock(), 16 * 20_000);
    });
}

#[test]
fn a_held_mutex_is_not_to_be_had() {
    bounded(|| {
        let mutex = Mutex::new(());
        let guard = mutex.lock();
        assert!(mutex.is_locked());
        elsewhere(|| {
            assert!(mutex.try_lock().is_none());
            let started = Instant::now();
            assert!(mutex.try_lock_for(Duration::from_millis(30)).is_none());
            assert!(started.elapsed() >= Duration::from_millis(30));
            assert!(mutex.try_lock_until(Instant::now() - Duration::from_secs(1)).is_none());
        });
        drop(guard);
        assert!(mutex.try_lock_for(Duration::ZERO).is_some());
        assert!(!mutex.is_locked());
    });
}

#[test]
fn the_word_names_the_owner() {
    let mutex = RawMutex::new();
    assert_eq!(mutex.owner(), 0);
    mutex.lock();
    assert_eq!(mutex.owner(), furwock::lock::thread_id());
    mutex.unlock();
    assert_eq!(mutex.owner(), 0);
}

#[test]
fn unlocking_what_is_not_held_does_nothing() {
    let mutex = RawMutex::new();
    mutex.unlock();
    assert!(mutex.try_lock());
    assert!(!mutex.try_lock());
    mutex.unlock();
    mutex.unlock();
    assert!(!mutex.is_locked());
}

#[test]
fn a_panic_releases_without_poison() {
    let mutex = kept(Mutex::new(1));
    let result = thread::spawn(|| {
        let _guard = mutex.lock();
        panic!("on purpose, with the lock held");
    });
    assert!(result.join().is_err());
    assert_eq!(*mutex.lock(), 1);
}

/// A waiter among threads that take the lock again and again gets it in bounded time.
#[test]
fn greedy_threads_starve_no_waiter() {
    for greedy in [8, 63] {
        let longest = longest_wait_beside(greedy);
        println!("a thread among {greedy} greedy ones waits for {longest:?} at most");
        // About ten times the usual figure on two processors, where the scheduler alone may keep a
        // thread waiting for a slice of each other thread.
        assert!(longest < Duration::from_secs(3), "{longest:?}");
    }
}

/// The longest of ten waits of a thread, beside `greedy` threads that lock again at once.
fn longest_wait_beside(greedy: usize) -> Duration {
    let (sent, longest) = std::sync::mpsc::channel();
    bounded(move || {
        let mutex = kept(Mutex::new(false));
        let lock_again_and_again = || {
            loop {
                let stop = mutex.lock();
                if *stop {
                    break;
                }
                burn(Duration::from_micros(200));
            }
        };
        let greedy: Vec<_> = (0..greedy).map(|_| thread::spawn(lock_again_and_again)).collect();
        let mut longest = Duration::ZERO;
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(3));
            let started = Instant::now();
            drop(mutex.lock());
            longest = longest.max(started.elapsed());
        }
        *mutex.lock() = true;
        join_all(greedy);
        sent.send(longest).unwrap();
    });
    longest.recv().unwrap()
}

#[test]
fn waits_end_by_notification_or_time() {
    bounded(|| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let mut guard = mutex.lock();
        assert!(!condvar.notify_one());
        assert_eq!(condvar.notify_all(), 0);
        let started = Instant::now();
        assert!(condvar.wait_for(&mut guard, Duration::from_millis(20)).timed_out());
        assert!(started.elapsed() >= Duration::from_millis(20));
        assert!(condvar.wait_until(&mut guard, Instant::now()).timed_out());
        let timed_out =
            condvar.wait_while_for(&mut guard, |()| true, Duration::from_millis(20)).timed_out();
        assert!(timed_out);
        assert!(!condvar.wait_while_until(&mut guard, |()| false, Instant::now()).timed_out());
    });
}

/// `count` threads wait; `notify` lets them go, called with the mutex held or not.
fn let_go(count: usize, held: bool, notify: impl Fn(&Condvar) + Send + 'static) {
    bounded(move || {
        let (mutex, condvar) = kept((Mutex::new((0, false)), Condvar::new()));
        let gone = kept(AtomicUsize::new(0));
        let wait = || {
            let mut state = mutex.lock();
            state.0 += 1;
            condvar.wait_while(&mut state, |state| !state.1);
            gone.fetch_add(1, Ordering::SeqCst);
        };
        let waiters: Vec<_> = (0..count).map(|_| thread::spawn(wait)).collect();
        eventually("all wait", || mutex.lock().0 == count);
        let mut state = mutex.lock();
        state.1 = true;
        let held = held.then_some(state);
        notify(condvar);
        drop(held);
        join_all(waiters);
        assert_eq!(gone.load(Ordering::SeqCst), count);
        assert!(!mutex.is_locked());
        assert_eq!(condvar.notify_all(), 0);
    });
}

#[test]
fn a_broadcast_lets_all_go() {
    for count in [1, 2, 50, 300] {
        for held in [false, true] {
            let_go(count, held, move |condvar| assert_eq!(condvar.notify_all(), count));
        }
    }
}

#[test]
fn as_many_signals_as_waiters_let_all_go() {
    for held in [false, true] {
        let_go(50, held, |condvar| (0..50).for_each(|_| assert!(condvar.notify_one())));
    }
}

/// Two mutexes at one condvar: waiters with the second are woken, not moved to the first.
#[test]
fn a_condvar_serves_two_mutexes() {
    bounded(|| {
        let (mutexes, condvar) = kept(([Mutex::new(0), Mutex::new(0)], Condvar::new()));
        let wait = |mutex: &Mutex<i32>| {
            let mut state = mutex.lock();
            *state += 1;
            condvar.wait_while(&mut state, |state| *state < 100);
        };
        let waiters = [0, 1, 0, 1, 0, 1, 0, 1].map(|at| thread::spawn(move || wait(&mutexes[at])));
        let waiting = || *mutexes[0].lock() + *mutexes[1].lock();
        eventually("all wait", || waiting() == 8);
        let mut guards = mutexes.each_ref().map(|mutex| mutex.lock());
        guards.iter_mut().for_each(|guard| **guard = 100);
        assert_eq!(condvar.notify_all(), 8);
        drop(guards);
        join_all(waiters);
    });
}

/// Producers and consumers, some with waits that are too short: every item arrives once.
#[test]
fn a_bounded_queue_loses_nothing() {
    bounded(|| {
        const ITEMS: u64 = 30_000;
        struct Queue {
            items: Mutex<Vec<u64>>,
            not_empty: Condvar,
            not_full: Condvar,
        }
        let queue = Queue {
            items: Mutex::new(Vec::new()),
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
        };
        let produce = |item| {
            let mut items = queue.items.lock();
            queue.not_full.wait_while(&mut items, |items| items.len() == 8);
            items.push(item);
            queue.not_empty.notify_one();
            0
        };
        let consume = || {
            let mut items = queue.items.lock();
            let short = Duration::from_micros(30);
            while queue
                .not_empty
                .wait_while_for(&mut items, |items| items.is_empty(), short)
                .timed_out()
            {}
            let item = items.pop().unwrap();
            queue.not_full.notify_one();
            item
        };
        let sums = together(8, |number| {
            let part = (number % 4..ITEMS).step_by(4);
            part.map(|item| if number < 4 { produce(item) } else { consume() }).sum::<u64>()
        });
        let sum: u64 = sums.into_iter().sum();
        assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
    });
}

#[test]
fn a_timed_lock_at_its_deadline_leaves_no_trace() {
    bounded(|| {
        let mutex = RawMutex::new();
        together(8, |number| {
            for round in 0..3000 {
                let micros = (number * 13 + round) % 60;
                let deadline = Deadline::after(Duration::from_micros(micros));
                if number < 4 {
                    mutex.lock();
                } else if mutex.lock_with(&Options::new().until(deadline)).is_none() {
                    continue;
                }
                burn(Duration::from_micros(5));
                mutex.unlock();
            }
        });
        assert!(!mutex.is_locked());
    });
}
