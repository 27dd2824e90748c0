//! Waiters that safe code leaves behind at an address, and a lock that comes to lie there: its
//! releases reach its own waiters (ORDERING.md, K-1).

use furwock::futex::{self, Expected, Registration};
use furwock::{Barrier, Condvar, Deadline, Mutex, RwLock, Semaphore};
use std::future::Future;
use std::mem::forget;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How long a waiter may sleep without a reason.
const BOUND: Duration = Duration::from_secs(20);

/// How a waiter is left behind.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// A thread that waits for another word is moved here, and stays for this many milliseconds.
    Requeue(u64),
    /// A future is polled and forgotten.
    Future,
    /// A registration is forgotten, with no thread waiting in it.
    Registration,
    /// A descriptor's wait is forgotten.
    Descriptor,
}

const WAYS: [Way; 5] =
    [Way::Requeue(60_000), Way::Requeue(50), Way::Future, Way::Registration, Way::Descriptor];

/// Leaves a waiter behind at the address of a word that is gone when this returns.
fn leave_behind(word: &AtomicU64, way: Way) {
    match way {
        Way::Requeue(ms) => {
            let from: &'static AtomicU64 = Box::leak(Box::default());
            let wait =
                move || futex::wait(from, 0, Some(&Deadline::after(Duration::from_millis(ms))));
            let mut thread = thread::spawn(wait);
            let start = Instant::now();
            while futex::requeue(from, word, 0, 1).moved == 0 {
                assert!(start.elapsed() < BOUND, "the thread doesn't come to wait");
                // On a busy machine it may have left before it was moved.
                if thread.is_finished() {
                    thread = thread::spawn(wait);
                }
                thread::yield_now();
            }
        }
        Way::Future => {
            let mut future = futex::wait_async(word, 0);
            let polled = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending(), "the word holds the expected value");
            forget(future);
        }
        Way::Registration => forget(Registration::new(vec![Expected::new(word, 0)])),
        Way::Descriptor => forget(futex::wait_fd(word, 0).unwrap()),
    }
}

/// A lock that lies where waiters were left behind in each way. Never freed: those waiters stay.
fn placed<T: Sync>(way: Way, make: impl Fn() -> T) -> &'static T {
    #[repr(C)]
    union Place<T> {
        word: std::mem::ManuallyDrop<AtomicU64>,
        lock: std::mem::ManuallyDrop<T>,
    }
    let word = std::mem::ManuallyDrop::new(AtomicU64::new(0));
    let place: *mut Place<T> = Box::into_raw(Box::new(Place { word }));
    // SAFETY: first the word is used alone, then the lock is written in its place and used alone.
    // The memory is leaked.
    unsafe {
        leave_behind(&(*place).word, way);
        (&raw mut (*place).lock).write(std::mem::ManuallyDrop::new(make()));
        &(*place).lock
    }
}

/// Joins within the bound.
#[track_caller]
fn join<T>(way: Way, thread: thread::JoinHandle<T>) -> T {
    let start = Instant::now();
    while !thread.is_finished() {
        assert!(start.elapsed() < BOUND, "{way:?}: a waiter sleeps though nothing keeps it");
        thread::sleep(Duration::from_millis(1));
    }
    thread.join().unwrap()
}

fn pause() {
    thread::sleep(Duration::from_millis(20));
}

#[test]
fn a_mutex_wakes_its_own() {
    for way in WAYS {
        let mutex = placed(way, || Mutex::new(0));
        for _ in 0..5 {
            let guard = mutex.lock();
            let waiter = thread::spawn(|| *mutex.lock() += 1);
            pause();
            drop(guard);
            join(way, waiter);
        }
        assert_eq!(*mutex.lock(), 5);
    }
}

#[test]
fn a_rwlock_wakes_its_own() {
    for way in WAYS {
        let rwlock = placed(way, || RwLock::new(0));
        for round in 0..6 {
            let guard = rwlock.write();
            let waiter = thread::spawn(move || match round % 2 {
                0 => *rwlock.write() += 1,
                _ => assert!(*rwlock.read() > 0),
            });
            pause();
            drop(guard);
            join(way, waiter);
        }
        assert_eq!(*rwlock.read(), 3);
    }
}

#[test]
fn a_semaphore_wakes_its_own() {
    for way in WAYS {
        let semaphore = placed(way, || Semaphore::new(0));
        for _ in 0..5 {
            let waiter = thread::spawn(|| semaphore.acquire());
            pause();
            semaphore.release().unwrap();
            join(way, waiter);
        }
    }
}

#[test]
fn a_condvar_and_its_mutex_wake_their_own() {
    for way in WAYS {
        let condvar = placed(way, Condvar::new);
        let mutex = placed(way, || Mutex::new(false));
        for (round, all) in [false, true].into_iter().cycle().take(6).enumerate() {
            *mutex.lock() = false;
            let waiter = thread::spawn(|| condvar.wait_while(&mut mutex.lock(), |ready| !*ready));
            pause();
            let mut ready = mutex.lock();
            *ready = true;
            // Held while the waiter is moved, or free while it is woken.
            let held = (round % 3 == 0).then_some(ready);
            if all {
                condvar.notify_all();
            } else {
                condvar.notify_one();
            }
            drop(held);
            join(way, waiter);
        }
    }
}

#[test]
fn a_barrier_lets_its_own_go() {
    for way in WAYS {
        let barrier = placed(way, || Barrier::new(3));
        let start = Instant::now();
        for _ in 0..3 {
            let arrive = || thread::spawn(|| barrier.wait());
            let early = [arrive(), arrive()];
            // Until the thread that was moved here has left, if it leaves at all.
            while start.elapsed() < Duration::from_millis(100) {
                pause();
            }
            let late = arrive();
            early.into_iter().chain([late]).for_each(|thread| _ = join(way, thread));
        }
    }
}

/// A wake by address doesn't find the waiters of a lock.
#[test]
fn a_wake_by_address_reaches_no_waiter_of_a_lock() {
    let mutex: &'static Mutex<()> = Box::leak(Box::default());
    let guard = mutex.lock();
    let waiter = thread::spawn(|| drop(mutex.lock()));
    pause();
    assert_eq!(futex::wake_address(std::ptr::from_ref(mutex).cast(), usize::MAX, u32::MAX), 0);
    drop(guard);
    waiter.join().unwrap();
}

/// A waiter that was left behind is still found by its word.
#[test]
fn what_was_left_behind_is_found_by_its_word() {
    let word = AtomicU64::new(0);
    leave_behind(&word, Way::Future);
    word.store(1, Ordering::Relaxed);
    assert_eq!(futex::wake(&word, 1), 1);
}
