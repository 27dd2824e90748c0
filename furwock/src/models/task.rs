//! A future in the queue: woken like a thread, and dropped without loss (T-1, T-2).

use super::{Apart, explore, rejects};
use crate::futex::{WaitFuture, Waited, wait, wait_async, wake};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::Mutant;
use loom::future::block_on;
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

type Words = Apart<AtomicU32, AtomicU32>;

fn store_then_wake() {
    let words = Arc::new(Words::default());
    let task = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            block_on(async {
                while words.a.load(Ordering::Relaxed) == 0 {
                    wait_async(&words.a, 0).await;
                }
            });
        })
    };
    words.a.store(1, Ordering::Relaxed);
    wake(&words.a, 1);
    task.join().unwrap();
}

/// A future that was polled once is dropped while a wake may be on its way to it; a thread waits
/// behind it. One wake is enough for that thread.
fn dropped_before_a_thread() {
    let words = Arc::new(Words::default());
    let future = polled_once(&words);
    let waiter = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            while words.a.load(Ordering::Relaxed) == 0 {
                wait(&words.a, 0, None);
            }
        })
    };
    let waker = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            words.a.store(1, Ordering::Relaxed);
            wake(&words.a, 1);
        })
    };
    drop(future);
    waker.join().unwrap();
    waiter.join().unwrap();
}

/// Dropped while a wake is on its way, with no waiter behind it.
fn dropped() {
    let words = Arc::new(Words::default());
    let future = polled_once(&words);
    let waker = {
        let words = Arc::clone(&words);
        thread::spawn(move || wake(&words.a, 1))
    };
    drop(future);
    waker.join().unwrap();
    assert_eq!(wake(&words.a, 1), 0, "a waiter is queued that doesn't exist");
}

/// Polled until woken, without the waker's help.
fn polled_until_woken() {
    let words = Arc::new(Words::default());
    let mut future = polled_once(&words);
    let waker = {
        let words = Arc::clone(&words);
        thread::spawn(move || wake(&words.a, 1))
    };
    while poll(future.as_mut()).is_pending() {
        thread::yield_now();
    }
    assert_eq!(waker.join().unwrap(), 1);
}

/// A future at the first word, queued. Every scenario keeps its `Arc` until its future is gone.
fn polled_once(words: &Arc<Words>) -> Pin<Box<WaitFuture<'static, AtomicU32>>> {
    // SAFETY: as said: the words outlive the future.
    let word: &'static AtomicU32 = unsafe { &*std::ptr::from_ref(&words.a) };
    let mut future = Box::pin(wait_async(word, 0));
    assert_eq!(poll(future.as_mut()), Poll::Pending);
    future
}

fn poll(future: Pin<&mut impl Future<Output = Waited>>) -> Poll<Waited> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polled while the wake is on its way, with another waker than before: it is done, or that waker
/// is called.
fn polled_while_woken() {
    let words = Arc::new(Words::default());
    let future = polled_once(&words);
    let waker = {
        let words = Arc::clone(&words);
        thread::spawn(move || wake(&words.a, 1))
    };
    assert_eq!(block_on(future), Waited::Woken);
    assert_eq!(waker.join().unwrap(), 1);
}

#[test]
fn a_task_loses_no_wake() {
    explore(3, store_then_wake);
}

#[test]
fn a_dropped_future_passes_its_wake_on() {
    explore(3, dropped_before_a_thread);
}

#[test]
fn a_future_may_be_dropped_at_any_moment() {
    explore(4, dropped);
}

#[test]
fn a_future_may_be_polled_at_any_moment() {
    explore(3, polled_until_woken);
}

#[test]
fn a_future_may_change_its_waker_at_any_moment() {
    explore(3, polled_while_woken);
}

#[test]
fn rejects_a_dropped_future_that_keeps_its_wake() {
    rejects(Mutant::DroppedTaskKeepsWake, 3, dropped_before_a_thread);
}

#[test]
fn rejects_a_choice_that_publishes_nothing() {
    rejects(Mutant::ChosenUnpublished, 3, polled_until_woken);
}

#[test]
fn rejects_a_node_that_both_give_back() {
    rejects(Mutant::TaskGivenBackByBoth, 4, dropped);
}
