//! Waiting on many words: which one woke, who else is woken, and what a registration keeps.

mod common;
mod process;

use common::{bounded, eventually};
use furwock::Deadline;
use furwock::futex::{
    AnyWaited, Expected, Registration, Waited, requeue, wait, wait_any, wake, wake_all,
};
use process::holds_in_a_child;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::thread;
use std::time::Duration;

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(20))
}

fn waiting_at(word: &AtomicU32) -> usize {
    requeue(word, word, 0, usize::MAX).moved
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
        let words = Arc::new(Mixed::default());
        for index in 0..5 {
            let waiter = {
                let words = Arc::clone(&words);
                thread::spawn(move || wait_any(&words.expected(), None))
            };
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
    assert_eq!(words.wake(0) + words.wake(3), 0, "nobody stayed behind");
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
        let words: Arc<Vec<AtomicU32>> = Arc::new((0..WORDS).map(|_| AtomicU32::new(0)).collect());
        for target in [0, 1, WORDS / 2, WORDS - 1] {
            let waiter = {
                let words = Arc::clone(&words);
                thread::spawn(move || {
                    let mut expected: Vec<_> =
                        words.iter().map(|word| Expected::new(word, 0)).collect();
                    expected.push(Expected::new(&words[0], 0));
                    wait_any(&expected, None)
                })
            };
            eventually("the waiter is woken", || wake(&words[target], 1) == 1);
            assert_eq!(waiter.join().unwrap(), AnyWaited::Woken(target));
        }
        assert!(words.iter().all(|word| wake_all(word) == 0));
    });
}

/// A wake that comes second at another word goes on to who waits there.
#[test]
fn a_waiter_that_has_been_woken_takes_no_second_wake() {
    bounded(|| {
        for _ in 0..200 {
            let words = Arc::new([(); 2].map(|()| AtomicU32::new(0)));
            let any = {
                let words = Arc::clone(&words);
                thread::spawn(move || {
                    wait_any(&[Expected::new(&words[0], 0), Expected::new(&words[1], 0)], None)
                })
            };
            eventually("the first is queued", || waiting_at(&words[1]) == 1);
            let single = {
                let words = Arc::clone(&words);
                thread::spawn(move || wait(&words[1], 0, None))
            };
            eventually("the second is queued", || waiting_at(&words[1]) == 2);
            // Woken, and perhaps not yet running: its node may still stand in the other queue.
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
        let words = Arc::new([(); 3].map(|()| AtomicU32::new(0)));
        let any = {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                wait_any(&[Expected::new(&words[0], 0), Expected::new(&words[1], 0)], None)
            })
        };
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
        let words: Arc<Vec<AtomicU32>> = Arc::new((0..WORDS).map(|_| AtomicU32::new(0)).collect());
        let seen = Arc::new(AtomicU32::new(0));
        let consumer = {
            let (words, seen) = (Arc::clone(&words), Arc::clone(&seen));
            thread::spawn(move || {
                let all = words.iter().map(|word| Expected::new(word, 0)).collect();
                let mut registration = Registration::new(all);
                let mut counts = vec![0; WORDS];
                for round in 1..=ROUNDS {
                    let index = loop {
                        match registration.wait(None) {
                            AnyWaited::Woken(_) => continue,
                            AnyWaited::Mismatch(index) => break index,
                            AnyWaited::TimedOut => unreachable!("there is no deadline"),
                        }
                    };
                    counts[index] = words[index].load(Ordering::Acquire);
                    registration.expect(index, &words[index], counts[index]);
                    seen.store(round, Ordering::Release);
                    wake(&*seen, 1);
                }
            })
        };
        for round in 0..ROUNDS {
            let word = &words[round as usize * 7 % WORDS];
            word.fetch_add(1, Ordering::Release);
            wake(word, 1);
            while seen.load(Ordering::Acquire) == round {
                wait(&*seen, round, None);
            }
        }
        consumer.join().unwrap();
        assert!(words.iter().all(|word| wake_all(word) == 0), "a registration was left behind");
    });
}

#[test]
fn an_idle_registration_takes_no_wake() {
    bounded(|| {
        let words = Arc::new([(); 2].map(|()| AtomicU32::new(0)));
        let all = words.iter().map(|word| Expected::new(word, 0)).collect();
        let mut registration = Registration::new(all);
        assert_eq!(wake_all(&words[0]), 0);
        let waiter = {
            let words = Arc::clone(&words);
            thread::spawn(move || wait(&words[0], 0, None))
        };
        eventually("the waiter is queued", || waiting_at(&words[0]) == 1);
        assert_eq!(wake(&words[0], 1), 1, "it goes past the registration");
        assert_eq!(waiter.join().unwrap(), Waited::Woken);
        assert_eq!(registration.wait(Some(&soon())), AnyWaited::TimedOut);
        words[1].store(1, Ordering::Relaxed);
        assert_eq!(registration.wait(None), AnyWaited::Mismatch(1));
        registration.expect(1, &words[1], 1);
        assert_eq!(registration.wait(Some(&soon())), AnyWaited::TimedOut);
    });
}

/// Two registrations on one word take turns, since who was woken goes to the end.
#[test]
fn registrations_take_turns() {
    bounded(|| {
        let word = Arc::new(AtomicU32::new(0));
        let taken: Arc<[AtomicUsize; 2]> = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let waiters = [0, 1].map(|own| {
            let (word, taken, stop) = (Arc::clone(&word), Arc::clone(&taken), Arc::clone(&stop));
            thread::spawn(move || {
                let mut registration = Registration::new(vec![Expected::new(&*word, 0)]);
                while !stop.load(Ordering::Relaxed) {
                    if registration.wait(None) == AnyWaited::Woken(0) {
                        taken[own].fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        });
        for _ in 0..200 {
            eventually("both wait", || waiting_at(&word) == 2);
            assert_eq!(wake(&*word, 1), 1);
        }
        stop.store(true, Ordering::Relaxed);
        word.store(1, Ordering::Relaxed);
        wake_all(&*word);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        let taken = [0, 1].map(|own| taken[own].load(Ordering::Relaxed));
        assert!(taken.iter().all(|&taken| taken >= 99), "{taken:?} of 200");
    });
}

#[test]
#[should_panic(expected = "not the word registered")]
fn a_registration_refuses_a_word_it_does_not_know() {
    let words = [(); 2].map(|()| AtomicU32::new(0));
    let mut registration = Registration::new(vec![Expected::new(&words[0], 0)]);
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

/// Threads that wait on random pairs of words, threads that wake at random: every wake that says it
/// woke one has woken one.
#[test]
fn as_many_return_woken_as_wakes_woke() {
    bounded(|| {
        const WORDS: usize = 4;
        let words: Arc<[AtomicU32; WORDS]> = Arc::default();
        let (stop, returned) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let waiters: Vec<_> = (0..4usize)
            .map(|seed| {
                let (words, stop, returned) =
                    (Arc::clone(&words), Arc::clone(&stop), Arc::clone(&returned));
                thread::spawn(move || {
                    let mut random = seed + 1;
                    while !stop.load(Ordering::Relaxed) {
                        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                        let (a, b) = (random >> 33 & 3, random >> 43 & 3);
                        let both = [Expected::new(&words[a], 0), Expected::new(&words[b], 0)];
                        let deadline = Deadline::after(Duration::from_micros(random as u64 >> 55));
                        if let AnyWaited::Woken(_) = wait_any(&both, Some(&deadline)) {
                            returned.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        let mut woken = 0;
        for round in 0..200_000 {
            woken += wake(&words[round % WORDS], 1 + round % 2);
        }
        stop.store(true, Ordering::Relaxed);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(returned.load(Ordering::Relaxed), woken);
    });
}
