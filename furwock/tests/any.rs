//! Waiting on many words: which word woke the waiter, which others are woken, and what a
//! registration keeps.

mod common;
mod process;

use common::{Random, bounded, eventually, join_all, kept, queued, soon, waiting_at};
use furwock::Deadline;
use furwock::futex::{
    AnyWaited, Expected, Registration, Waited, requeue, wait, wait_any, wake, wake_all,
};
use process::holds_in_a_child;
use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::thread;
use std::time::Duration;

fn zeroes<const COUNT: usize>() -> &'static [AtomicU32; COUNT] {
    kept([(); COUNT].map(|()| AtomicU32::new(0)))
}

/// What a wait on all `words` expects: zeroes.
fn all(words: &[AtomicU32]) -> Vec<Expected<'_>> {
    words.iter().map(|word| Expected::new(word, 0)).collect()
}

#[derive(Default)]
struct Mixed {
    bit: AtomicBool,
    byte: AtomicU8,
    short: AtomicU16,
    word: AtomicU32,
    long: AtomicU64,
}

impl Mixed {
    fn expected(&self) -> [Expected<'_>; 5] {
        [
            Expected::new(&self.bit, false),
            Expected::new(&self.byte, 0),
            Expected::new(&self.short, 0),
            Expected::new(&self.word, 0),
            Expected::new(&self.long, 0),
        ]
    }

    fn wake(&self, index: usize) -> usize {
        match index {
            0 => wake(&self.bit, 1),
            1 => wake(&self.byte, 1),
            2 => wake(&self.short, 1),
            3 => wake(&self.word, 1),
            _ => wake(&self.long, 1),
        }
    }
}

#[test]
fn says_which_word_of_mixed_widths_woke_it() {
    bounded(|| {
        let words = kept(Mixed::default());
        for index in 0..5 {
            let waiter = thread::spawn(|| wait_any(&words.expected(), None));
            eventually("the waiter is woken", || words.wake(index) == 1);
            assert_eq!(waiter.join().unwrap(), AnyWaited::Woken(index));
        }
    });
}

#[test]
fn says_which_word_is_the_first_that_differs() {
    let words = Mixed::default();
    words.short.store(1, Ordering::Relaxed);
    words.long.store(1 << 40, Ordering::Relaxed);
    assert_eq!(wait_any(&words.expected(), None), AnyWaited::Mismatch(2));
    words.short.store(0, Ordering::Relaxed);
    assert_eq!(wait_any(&words.expected(), None), AnyWaited::Mismatch(4));
    assert_eq!(words.wake(0) + words.wake(3), 0, "no waiter is left");
}

#[test]
fn times_out_and_leaves_no_node() {
    let words = Mixed::default();
    assert_eq!(wait_any(&words.expected(), Some(&soon())), AnyWaited::TimedOut);
    assert_eq!((0..5).map(|index| words.wake(index)).sum::<usize>(), 0);
    assert_eq!(wait_any(&[], Some(&soon())), AnyWaited::TimedOut, "no words: the deadline");
}

#[test]
fn thousands_of_words_and_the_same_one_twice() {
    bounded(|| {
        const WORDS: usize = 5000;
        let words = zeroes::<WORDS>();
        for target in [0, 1, WORDS / 2, WORDS - 1] {
            let waiter = thread::spawn(|| {
                let mut expected = all(words);
                expected.push(Expected::new(&words[0], 0));
                wait_any(&expected, None)
            });
            eventually("the waiter is woken", || wake(&words[target], 1) == 1);
            assert_eq!(waiter.join().unwrap(), AnyWaited::Woken(target));
        }
        assert!(words.iter().all(|word| wake_all(word) == 0));
    });
}

/// A second wake, at another of its words, goes to the next waiter there.
#[test]
fn a_waiter_that_has_been_woken_takes_no_second_wake() {
    bounded(|| {
        for _ in 0..200 {
            let words = zeroes::<2>();
            let any = thread::spawn(|| wait_any(&all(words), None));
            eventually("the first is queued", || waiting_at(&words[1]) == 1);
            let single = queued(&words[1]);
            // The woken thread may not run yet: its node may still be in the other queue.
            assert_eq!(wake(&words[0], 1), 1);
            assert_eq!(wake(&words[1], 1), 1);
            assert_eq!(any.join().unwrap(), AnyWaited::Woken(0));
            assert_eq!(single.join().unwrap(), Waited::Woken);
        }
    });
}

#[test]
fn a_requeued_waiter_on_many_says_the_word_it_named() {
    bounded(|| {
        let words = zeroes::<3>();
        let any = thread::spawn(|| wait_any(&all(&words[..2]), None));
        eventually("the waiter is moved", || requeue(&words[1], &words[2], 0, 1).moved == 1);
        assert_eq!(wake(&words[1], 1), 0);
        assert_eq!(wake(&words[2], 1), 1);
        assert_eq!(any.join().unwrap(), AnyWaited::Woken(1));
    });
}

#[test]
fn a_registration_serves_wait_after_wait() {
    bounded(|| {
        const WORDS: usize = 64;
        const ROUNDS: u32 = 20_000;
        let (words, seen) = (zeroes::<WORDS>(), kept(AtomicU32::new(0)));
        let consumer = thread::spawn(|| {
            let mut registration = Registration::new(all(words));
            for round in 1..=ROUNDS {
                let index = loop {
                    match registration.wait(None) {
                        AnyWaited::Woken(_) => continue,
                        AnyWaited::Mismatch(index) => break index,
                        AnyWaited::TimedOut => unreachable!("there is no deadline"),
                    }
                };
                registration.expect(index, &words[index], words[index].load(Ordering::Acquire));
                seen.store(round, Ordering::Release);
                wake(seen, 1);
            }
        });
        for round in 0..ROUNDS {
            let word = &words[round as usize * 7 % WORDS];
            word.fetch_add(1, Ordering::Release);
            wake(word, 1);
            while seen.load(Ordering::Acquire) == round {
                wait(seen, round, None);
            }
        }
        consumer.join().unwrap();
        assert!(words.iter().all(|word| wake_all(word) == 0), "a registration was left behind");
    });
}

#[test]
fn an_idle_registration_takes_no_wake() {
    bounded(|| {
        let words = zeroes::<2>();
        let mut registration = Registration::new(all(words));
        assert_eq!(wake_all(&words[0]), 0);
        let waiter = queued(&words[0]);
        assert_eq!(wake(&words[0], 1), 1, "it goes past the registration");
        assert_eq!(waiter.join().unwrap(), Waited::Woken);
        assert_eq!(registration.wait(Some(&soon())), AnyWaited::TimedOut);
        words[1].store(1, Ordering::Relaxed);
        assert_eq!(registration.wait(None), AnyWaited::Mismatch(1));
        registration.expect(1, &words[1], 1);
        assert_eq!(registration.wait(Some(&soon())), AnyWaited::TimedOut);
    });
}

/// Two registrations on one word take turns: the one that was woken goes to the end of the queue.
#[test]
fn registrations_take_turns() {
    bounded(|| {
        let (word, stop) = (kept(AtomicU32::new(0)), kept(AtomicBool::new(false)));
        let taken: &[AtomicUsize; 2] = kept(Default::default());
        let waiters = [0, 1].map(|own| {
            thread::spawn(move || {
                let mut registration = Registration::new(vec![Expected::new(word, 0)]);
                while !stop.load(Ordering::Relaxed) {
                    if registration.wait(None) == AnyWaited::Woken(0) {
                        taken[own].fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        });
        for _ in 0..200 {
            eventually("both wait", || waiting_at(word) == 2);
            assert_eq!(wake(word, 1), 1);
        }
        stop.store(true, Ordering::Relaxed);
        word.store(1, Ordering::Relaxed);
        wake_all(word);
        join_all(waiters);
        let taken = [0, 1].map(|own| taken[own].load(Ordering::Relaxed));
        assert!(taken.iter().all(|&taken| taken >= 99), "{taken:?} of 200");
    });
}

#[test]
#[should_panic(expected = "not the word registered")]
fn a_registration_refuses_a_word_it_does_not_know() {
    let words = zeroes::<2>();
    let mut registration = Registration::new(all(&words[..1]));
    registration.expect(0, &words[1], 1);
}

#[test]
fn a_forked_child_registers_anew() {
    bounded(|| {
        let word = AtomicU32::new(0);
        let mut registration = Registration::new(vec![Expected::new(&word, 0)]);
        assert_eq!(registration.wait(Some(&soon())), AnyWaited::TimedOut);
        holds_in_a_child(|| {
            let waited = registration.wait(Some(&soon()));
            word.store(1, Ordering::Relaxed);
            let changed = registration.wait(None);
            drop(registration);
            waited == AnyWaited::TimedOut && changed == AnyWaited::Mismatch(0)
        });
    });
}

/// Threads wait on random pairs of words while another wakes: as many waits return as woken as
/// wakes say.
#[test]
fn as_many_return_woken_as_wakes_woke() {
    bounded(|| {
        const WORDS: usize = 4;
        let (words, stop) = (zeroes::<WORDS>(), kept(AtomicBool::new(false)));
        let waiters: Vec<_> = (1..=4)
            .map(|seed| {
                thread::spawn(move || {
                    let (mut random, mut returned) = (Random(seed), 0);
                    while !stop.load(Ordering::Relaxed) {
                        let pair = [(); 2].map(|()| &words[random.below(4) as usize]);
                        let pair = pair.map(|word| Expected::new(word, 0));
                        let deadline = Deadline::after(Duration::from_micros(random.below(512)));
                        let waited = wait_any(&pair, Some(&deadline));
                        returned += usize::from(matches!(waited, AnyWaited::Woken(_)));
                    }
                    returned
                })
            })
            .collect();
        let woken: usize =
            (0..200_000).map(|round| wake(&words[round % WORDS], 1 + round % 2)).sum();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(join_all(waiters).into_iter().sum::<usize>(), woken);
    });
}
