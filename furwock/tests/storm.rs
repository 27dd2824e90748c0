//! One wake at a time, among waiters of every kind that come and go: each wake must reach a waiter
//! that stays. `FURWOCK_STORM_SECONDS` says how long (2 s).
//!
//! A token is put into a word, and one waiter of that word is woken. *Stayers*, one of each kind,
//! take it. *Passers-by* wait for moments only; one that is woken all the same wakes the next, as a
//! futex's users must. If any wake is lost, a token stays where it is, and the storm stops.

mod common;

use common::watchdog::{Patience, Subject};
use common::{Random, becomes_readable, eventually, join_all, kept};
use furwock::Deadline;
use furwock::futex::{
    AnyWaited, Expected, Registration, Waited, requeue, wait, wait_any, wait_async, wait_bitset,
    wait_fd, wake,
};
use std::future::Future;
use std::os::fd::AsRawFd;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

const WORDS: usize = 3;
const KINDS: usize = 5;

#[derive(Default)]
struct Storm {
    /// Tokens in each word.
    words: [AtomicU32; WORDS],
    taken: AtomicU64,
    stop: AtomicBool,
}

impl Storm {
    fn take(&self, at: usize) -> bool {
        let taken = self.words[at]
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |tokens| tokens.checked_sub(1))
            .is_ok();
        if taken {
            self.taken.fetch_add(1, Ordering::Release);
        }
        taken
    }

    fn all(&self) -> Vec<Expected<'_>> {
        self.words.iter().map(|word| Expected::new(word, 0)).collect()
    }

    /// Takes tokens of word `at`, or of all, for as long as the storm lasts.
    fn stay(&self, kind: usize, at: usize) {
        let mut registration = (kind == 2).then(|| Registration::new(self.all()));
        while !self.stop.load(Ordering::Relaxed) {
            let word = &self.words[at];
            match kind {
                0 => _ = wait(word, 0, None),
                1 => _ = wait_any(&self.all(), None),
                2 => _ = registration.as_mut().map(|registration| registration.wait(None)),
                3 => _ = block_on(wait_async(word, 0)),
                _ => {
                    if let Ok(mut wait) = wait_fd(word, 0) {
                        becomes_readable(wait.as_raw_fd(), -1);
                        assert!(wait.is_woken());
                    }
                }
            }
            match kind {
                1 | 2 => (0..WORDS).for_each(|at| while self.take(at) {}),
                _ => while self.take(at) {},
            }
        }
    }

    /// Waits for moments, and passes on the wakes that it gets.
    fn pass_by(&self, seed: u64) {
        let mut random = Random(seed);
        while !self.stop.load(Ordering::Relaxed) {
            let at = random.below(WORDS as u64) as usize;
            let word = &self.words[at];
            let moment = Deadline::after(Duration::from_micros(random.below(60)));
            let woken_at = match random.below(KINDS as u64) {
                0 => (wait(word, 0, Some(&moment)) == Waited::Woken).then_some(at),
                1 => match wait_any(&self.all(), Some(&moment)) {
                    AnyWaited::Woken(at) => Some(at),
                    _ => None,
                },
                2 => match Registration::new(self.all()).wait(Some(&moment)) {
                    AnyWaited::Woken(at) => Some(at),
                    _ => None,
                },
                3 => {
                    // A woken future that is dropped passes its wake on itself.
                    let mut future = pin!(wait_async(word, 0));
                    let mut context = Context::from_waker(Waker::noop());
                    let first = future.as_mut().poll(&mut context);
                    for _ in 0..random.below(200) {
                        std::hint::spin_loop();
                    }
                    let last = match first {
                        Poll::Pending if random.below(2) == 0 => future.as_mut().poll(&mut context),
                        first => first,
                    };
                    (last == Poll::Ready(Waited::Woken)).then_some(at)
                }
                _ => wait_fd(word, 0).ok().and_then(|mut wait| {
                    becomes_readable(wait.as_raw_fd(), 0);
                    // Every other time it isn't asked: then it passes its wake on itself.
                    (random.below(2) == 0 && wait.is_woken()).then_some(at)
                }),
            };
            if let Some(at) = woken_at {
                wake(&self.words[at], 1);
            }
            // A waiter for other wakes is in the way, too.
            if random.below(16) == 0 {
                wait_bitset(word, 0, Some(&moment), 0);
            }
        }
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on(future: impl Future<Output = Waited>) -> Waited {
    let waker = Waker::from(std::sync::Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(waited) => return waited,
            Poll::Pending => thread::park(),
        }
    }
}

/// Puts tokens in, one at a time, and waits until each is taken. Returns how many.
fn put_tokens(storm: &Storm, until: Instant, seed: u64) -> u64 {
    let mut random = Random(seed);
    let mut put = 0;
    while Instant::now() < until {
        let word = &storm.words[random.below(WORDS as u64) as usize];
        word.fetch_add(1, Ordering::Release);
        wake(word, 1);
        put += 1;
        let taken = || storm.taken.load(Ordering::Acquire) == put;
        let mut patience = Patience::new(Duration::from_secs(10));
        while !taken() {
            if let Some(report) = patience.judge(&Subject::Own) {
                assert!(taken(), "seed {seed}: token {put} stays: a wake was lost\n{report}");
            }
            thread::yield_now();
        }
    }
    put
}

#[test]
fn every_wake_reaches_a_waiter_that_stays() {
    let seconds = std::env::var("FURWOCK_STORM_SECONDS")
        .map_or(2, |text| text.parse().expect("FURWOCK_STORM_SECONDS is a number of seconds"));
    let seed = u64::from(std::process::id()) << 20 | 1;
    let storm = kept(Storm::default());
    let mut threads = Vec::new();
    for at in 0..WORDS {
        // One stayer of each kind, and at each word one that waits for nothing else.
        threads.push(thread::spawn(move || storm.stay([0, 3, 4][at], at)));
    }
    for number in 0..3 {
        threads.push(thread::spawn(move || storm.pass_by(seed + 1000 * number)));
    }
    let phases = [None, Some(1), Some(2)];
    let mut put = 0;
    for kind in phases {
        // Stayers that wait on all words come later: they take tokens from the others.
        if let Some(kind) = kind {
            threads.push(thread::spawn(move || storm.stay(kind, 0)));
        }
        let until = Instant::now() + Duration::from_secs(seconds) / phases.len() as u32;
        storm.taken.store(0, Ordering::Relaxed);
        put += put_tokens(storm, until, seed);
    }
    storm.stop.store(true, Ordering::Relaxed);
    eventually("all have stopped", || {
        for word in &storm.words {
            wake(word, usize::MAX);
        }
        threads.iter().all(|thread| thread.is_finished())
    });
    join_all(threads);
    assert!(storm.words.iter().all(|word| requeue(word, word, 0, usize::MAX).moved == 0));
    println!("{put} tokens, seed {seed}");
}
