//! A real program for both sides, with all that Rust's standard library builds on futex(2). Its
//! output doesn't depend on how its threads take turns.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;
const ROUNDS: usize = 20_000;

fn main() {
    println!("mutex: {}", mutex());
    println!("queue: {}", queue());
    println!("rwlock: {:?}", rwlock());
    println!("park: {}", park());
    println!("once: {:?}", once());
    println!("barrier: {}", barrier());
    println!("channel: {}", channel());
    println!("timeouts: {:?}", timeouts());
    println!("poison: {}", poison());
}

fn mutex() -> usize {
    let counter = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..ROUNDS).for_each(|_| *counter.lock().unwrap() += 1));
        }
    });
    counter.into_inner().unwrap()
}

/// A bounded queue of two condvars.
fn queue() -> usize {
    let items = Mutex::new(Vec::new());
    let (not_empty, not_full) = (Condvar::new(), Condvar::new());
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS / 2 {
            scope.spawn(|| {
                for item in 0..ROUNDS / 4 {
                    let held = items.lock().unwrap();
                    let mut held = not_full.wait_while(held, |held| held.len() >= 4).unwrap();
                    held.push(item);
                    not_empty.notify_one();
                }
            });
            scope.spawn(|| {
                for _ in 0..ROUNDS / 4 {
                    let held = items.lock().unwrap();
                    let mut held = not_empty.wait_while(held, |held| held.is_empty()).unwrap();
                    sum.fetch_add(held.pop().unwrap(), Ordering::Relaxed);
                    not_full.notify_one();
                }
            });
        }
    });
    sum.into_inner()
}

fn rwlock() -> (usize, bool) {
    let pair = RwLock::new((0, 0));
    let equal = AtomicBool::new(true);
    thread::scope(|scope| {
        for index in 0..THREADS {
            let (pair, equal) = (&pair, &equal);
            scope.spawn(move || {
                for round in 0..ROUNDS / 4 {
                    if (index + round) % 4 == 0 {
                        let mut pair = pair.write().unwrap();
                        pair.0 += 1;
                        pair.1 += 1;
                    } else {
                        let pair = pair.read().unwrap();
                        equal.fetch_and(pair.0 == pair.1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    (pair.into_inner().unwrap().0, equal.into_inner())
}

/// A token goes round by unparking.
fn park() -> usize {
    let turn = Arc::new(AtomicUsize::new(0));
    let others = Arc::new(OnceLock::<Vec<thread::Thread>>::new());
    let threads: Vec<_> = (0..THREADS)
        .map(|index| {
            let (turn, others) = (turn.clone(), others.clone());
            thread::spawn(move || {
                let others = others.wait();
                for round in 0..500 {
                    while turn.load(Ordering::Acquire) != round * THREADS + index {
                        thread::park();
                    }
                    turn.fetch_add(1, Ordering::Release);
                    others[(index + 1) % THREADS].unpark();
                }
            })
        })
        .collect();
    others.set(threads.iter().map(|thread| thread.thread().clone()).collect()).unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    turn.load(Ordering::Relaxed)
}

fn once() -> (usize, usize) {
    let (ran, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for _ in 0..50 {
        let once = Once::new();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    once.call_once(|| {
                        thread::sleep(Duration::from_micros(200));
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                    passed.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    }
    (ran.into_inner(), passed.into_inner())
}

fn barrier() -> usize {
    let barrier = Barrier::new(THREADS);
    let leaders = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..500 {
                    leaders.fetch_add(barrier.wait().is_leader().into(), Ordering::Relaxed);
                }
            });
        }
    });
    leaders.into_inner()
}

fn channel() -> usize {
    let (send, receive) = mpsc::sync_channel(4);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let send = send.clone();
            scope.spawn(move || (0..ROUNDS / 10).for_each(|item| send.send(item).unwrap()));
        }
        drop(send);
        receive.iter().sum()
    })
}

/// Nothing comes: each wait ends by its timeout.
fn timeouts() -> (bool, bool, bool) {
    let short = Duration::from_millis(5);
    let (send, receive) = mpsc::channel::<()>();
    let received = receive.recv_timeout(short) == Err(RecvTimeoutError::Timeout);
    drop(send);
    let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    let waited = condvar.wait_timeout_while(mutex.lock().unwrap(), short, |()| true).unwrap();
    thread::park_timeout(short);
    (received, waited.1.timed_out(), mutex.try_lock().is_err())
}

fn poison() -> bool {
    let mutex = Mutex::new(());
    let panicked = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _held = mutex.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        thread.join().is_err()
    });
    panicked && mutex.is_poisoned()
}
