//! More threads asleep at once than the first chunk of nodes serves (256): those after them sleep
//! in another of the kernel's tables. Each has to be found there, by whatever wakes it.

mod common;

use common::{bounded, eventually, join_all, kept};
use furwock::Deadline;
use furwock::futex::{AnyWaited, Expected, Waited, wait, wait_any, wake};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

const THREADS: usize = 600;

/// Starts so many threads that make that call.
fn start<T: Send + 'static>(call: impl Fn() -> T + Copy + Send + 'static) -> Vec<JoinHandle<T>> {
    let spawn = |_| Builder::new().stack_size(128 << 10).spawn(call).unwrap();
    (0..THREADS).map(spawn).collect()
}

/// Wakes threads that wait for `word`, or are about to, one after another, until all are awake.
fn wake_all_of(word: &AtomicU32, awake: &AtomicUsize) {
    let mut woken = 0;
    while woken < THREADS {
        eventually("a thread waits", || wake(word, 1) == 1);
        woken += 1;
        if woken % 100 == 0 {
            eventually("who was woken is awake", || awake.load(Ordering::SeqCst) == woken);
        }
    }
}

#[test]
fn each_is_woken() {
    bounded(|| {
        let (word, awake) = kept((AtomicU32::new(0), AtomicUsize::new(0)));
        let threads = start(|| {
            let waited = wait(word, 0, None);
            awake.fetch_add(1, Ordering::SeqCst);
            waited
        });
        wake_all_of(word, awake);
        assert!(join_all(threads).into_iter().all(|waited| waited == Waited::Woken));
    });
}

#[test]
fn each_is_woken_that_waits_for_any_word() {
    bounded(|| {
        let (words, awake) = kept(([const { AtomicU32::new(0) }; 3], AtomicUsize::new(0)));
        let deadline = Deadline::after(Duration::from_secs(60));
        let threads = start(move || {
            let all = words.each_ref().map(|word| Expected::new(word, 0));
            let waited = wait_any(&all, Some(&deadline));
            awake.fetch_add(1, Ordering::SeqCst);
            waited
        });
        wake_all_of(&words[2], awake);
        assert!(join_all(threads).into_iter().all(|waited| waited == AnyWaited::Woken(2)));
    });
}

#[test]
fn each_keeps_its_deadline() {
    bounded(|| {
        let word = kept(AtomicU32::new(0));
        let threads = start(|| wait(word, 0, Some(&Deadline::after(Duration::from_millis(200)))));
        assert!(join_all(threads).into_iter().all(|waited| waited == Waited::TimedOut));
    });
}
