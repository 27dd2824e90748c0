//! Each object in a few steps: short enough for Miri (`sh scripts/miri.sh`), which looks for
//! undefined behaviour and lets loads return old values where the orderings allow that.

use furwock::futex::{self, Expected, Registration, Waited};
use furwock::lock::{RawMutex, RawRwLock};
use furwock::{Barrier, Condvar, Deadline, Mutex, RwLock, Semaphore};
use std::cell::UnsafeCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

/// Data that only a lock keeps from being a data race.
#[derive(Default)]
struct Plain(UnsafeCell<u32>);

// SAFETY: each test accesses it under its lock; Miri checks that.
unsafe impl Sync for Plain {}

impl Plain {
    fn get(&self) -> u32 {
        // SAFETY: under the test's lock.
        unsafe { *self.0.get() }
    }

    fn add(&self) {
        // SAFETY: as above, alone.
        unsafe { *self.0.get() += 1 };
    }
}

fn together(works: &[&(dyn Fn() + Sync)]) {
    thread::scope(|scope| works.iter().for_each(|work| _ = scope.spawn(work)));
}

#[test]
fn a_mutex() {
    let (mutex, count) = (RawMutex::new(), Plain::default());
    let add = || {
        for _ in 0..3 {
            mutex.lock();
            count.add();
            mutex.unlock();
        }
    };
    let add_fairly = || {
        mutex.lock();
        count.add();
        thread::yield_now();
        mutex.unlock_fair();
    };
    together(&[&add, &add, &add_fairly]);
    assert_eq!(count.get(), 7);
}

#[test]
fn a_mutex_with_a_deadline() {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| mutex.try_lock_for(Duration::from_millis(1)).is_none());
        assert!(waiter.join().unwrap());
    });
    drop(held);
}

#[test]
fn a_rwlock_from_its_first_read_to_its_bias() {
    let (lock, count) = (RawRwLock::new(), Plain::default());
    let read = || {
        for _ in 0..90 {
            lock.lock_shared();
            count.get();
            lock.unlock_shared();
        }
    };
    let read_and_write = || {
        read();
        lock.lock_exclusive();
        count.add();
        lock.unlock_exclusive();
    };
    together(&[&read_and_write, &read_and_write]);
    assert_eq!(count.get(), 2);
}

#[test]
fn an_upgrade_and_a_downgrade() {
    let (lock, count) = (RawRwLock::new(), Plain::default());
    let upgrade = || {
        lock.lock_upgradable();
        let seen = count.get();
        lock.upgrade();
        assert_eq!(count.get(), seen);
        count.add();
        lock.downgrade();
        count.get();
        lock.unlock_shared();
    };
    together(&[&upgrade, &upgrade]);
    assert_eq!(count.get(), 2);
}

#[test]
fn a_condvar_moves_its_waiters() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let wait = || {
        let mut open = mutex.lock();
        condvar.wait_while(&mut open, |open| *open == 0);
        *open += 1;
    };
    let open = || {
        thread::yield_now();
        let mut open = mutex.lock();
        *open += 1;
        condvar.notify_all();
    };
    together(&[&wait, &wait, &open]);
    assert_eq!(*mutex.lock(), 3);
}

#[test]
fn a_semaphore() {
    let (semaphore, given) = (Semaphore::new(0), Plain::default());
    let give = || {
        given.add();
        semaphore.release().unwrap();
    };
    let take = || {
        semaphore.acquire();
        assert_eq!(given.get(), 1);
    };
    together(&[&take, &give]);
}

#[test]
fn a_barrier() {
    let (barrier, written) = (Barrier::new(2), [Plain::default(), Plain::default()]);
    let meet = |own: usize| {
        written[own].add();
        let leads = barrier.wait().is_leader();
        assert_eq!(written[1 - own].get(), 1);
        leads
    };
    let leaders = thread::scope(|scope| {
        let other = scope.spawn(|| meet(1));
        u32::from(meet(0)) + u32::from(other.join().unwrap())
    });
    assert_eq!(leaders, 1);
}

#[test]
fn a_word_is_waited_on_and_requeued() {
    let (from, to) = (AtomicU32::new(0), AtomicU64::new(0));
    let value = Plain::default();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let waited = futex::wait(&from, 0, None);
            assert_eq!(waited, Waited::Woken);
            value.get()
        });
        while futex::requeue(&from, &to, 0, 1).moved == 0 {
            thread::yield_now();
        }
        value.add();
        assert_eq!(futex::wake(&to, 1), 1);
        assert_eq!(waiter.join().unwrap(), 1);
    });
}

#[test]
fn many_words_at_once_and_again() {
    let words = [AtomicU32::new(0), AtomicU32::new(0)];
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let expected = words.iter().map(|word| Expected::new(word, 0)).collect();
            let mut registration = Registration::new(expected);
            while words[1].load(Ordering::Relaxed) == 0 {
                registration.wait(None);
            }
            let expected = [Expected::new(&words[0], 0)];
            futex::wait_any(&expected, Some(&Deadline::after(Duration::from_millis(1))));
        });
        words[1].store(1, Ordering::Relaxed);
        futex::wake(&words[1], 1);
        waiter.join().unwrap();
    });
}

struct Flag(AtomicU32);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_future_is_woken_or_dropped() {
    let word = AtomicU32::new(0);
    let flag = Arc::new(Flag(AtomicU32::new(0)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut context = Context::from_waker(&waker);
    let mut woken = pin!(futex::wait_async(&word, 0));
    assert!(woken.as_mut().poll(&mut context).is_pending());
    let mut dropped = Box::pin(futex::wait_async(&word, 0));
    assert!(dropped.as_mut().poll(&mut context).is_pending());
    thread::scope(|scope| {
        scope.spawn(|| futex::wake(&word, 1));
        scope.spawn(|| drop(dropped));
    });
    assert_eq!(woken.as_mut().poll(&mut context), Poll::Ready(Waited::Woken));
}

#[test]
fn a_forgotten_guard_and_a_lock_that_is_moved() {
    let lock = RwLock::new(0);
    (0..200).for_each(|_| drop(lock.read()));
    std::mem::forget(lock.read());
    let moved = Box::new(lock);
    thread::scope(|scope| {
        scope.spawn(|| drop(moved.read()));
        scope.spawn(|| drop(moved.read()));
    });
}
