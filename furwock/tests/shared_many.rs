//! Waits on several shared words at once, and on shared words of 64 bits.

mod common;
mod process;

use common::{bounded, eventually, let_interrupt, past, soon};
use furwock::Deadline;
use furwock::shared::{
    Awaited, Error, MOST_WORDS, NumaWord, Scope, Waited, WaitedAny, requeue, wait, wait_any,
    wait64, wake, wake64,
};
use process::{child, shared};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The index woken as a child's exit code.
fn code(waited: Result<WaitedAny, Error>) -> i32 {
    match waited {
        Ok(WaitedAny::Woken(index)) => index as i32,
        Ok(_) => 200,
        Err(_) => 201,
    }
}

#[test]
fn wait_any_tells_which_word_was_woken() {
    struct Words(AtomicU32, AtomicI32, NumaWord, AtomicU32);
    bounded(|| {
        let words = shared::<Words>();
        let Words(a, b, c, d) = &*words;
        let by_policy = Scope::SHARED.by_memory_policy().of(d);
        let all = [
            Awaited::new(a, 0),
            Awaited::new(b, 0),
            Awaited::new(c, 0),
            Awaited::new(&by_policy, 0),
        ];
        let wakes: [&dyn Fn() -> Result<usize, Error>; 4] =
            [&|| wake(a, 1), &|| wake(b, 1), &|| wake(c, 1), &|| wake(&by_policy, 1)];
        for (index, wake) in wakes.into_iter().enumerate() {
            let mut waiter = child(|| code(wait_any(&all, None)));
            eventually("woken", || wake() == Ok(1));
            assert_eq!(waiter.end(), index as i32);
        }
    });
}

#[test]
fn wait_any_tells_which_word_differs() {
    bounded(|| {
        let words = [AtomicU32::new(0), AtomicU32::new(1), AtomicU32::new(2)];
        let awaited = |values: [u32; 3]| -> Vec<Awaited<'_>> {
            words.iter().zip(values).map(|(word, value)| Awaited::new(word, value)).collect()
        };
        assert_eq!(wait_any(&awaited([0, 7, 7]), None), Ok(WaitedAny::Mismatch(Some(1))));
        assert_eq!(wait_any(&awaited([0, 1, 7]), None), Ok(WaitedAny::Mismatch(Some(2))));
        assert_eq!(wait_any(&awaited([7, 1, 2]), Some(&past())), Ok(WaitedAny::Mismatch(Some(0))));
        assert_eq!(wait_any(&awaited([0, 1, 2]), Some(&past())), Ok(WaitedAny::TimedOut));
        let deadline = soon();
        assert_eq!(wait_any(&awaited([0, 1, 2]), Some(&deadline)), Ok(WaitedAny::TimedOut));
        assert!(deadline.has_passed());
    });
}

#[test]
fn wait_any_takes_128_words_and_says_so() {
    bounded(|| {
        let words = shared::<[AtomicU32; MOST_WORDS + 1]>();
        let all: Vec<_> = words.iter().map(|word| Awaited::new(word, 0)).collect();
        assert_eq!(wait_any(&all[..MOST_WORDS], Some(&soon())), Ok(WaitedAny::TimedOut));
        let mut waiter = child(|| code(wait_any(&all[..MOST_WORDS], None)));
        eventually("woken", || wake(&words[MOST_WORDS - 1], 1) == Ok(1));
        assert_eq!(waiter.end(), MOST_WORDS as i32 - 1);
        let error = Error::TooManyWords { given: 129, most: 128 };
        assert_eq!(wait_any(&all, None), Err(error));
        assert!(error.to_string().contains("at most 128 words, not 129"));
        assert_eq!(wait_any(&[], None), Err(Error::NoWords));
    });
}

#[test]
fn a_signal_interrupts_a_wait_for_any() {
    bounded(|| {
        let words = shared::<[AtomicU32; 2]>();
        let mut waiter = child(|| {
            let_interrupt(libc::SIGUSR1);
            words[1].store(1, Ordering::Release);
            match wait_any(&[Awaited::new(&words[0], 0)], None) {
                Ok(WaitedAny::Interrupted) => 0,
                _ => 1,
            }
        });
        eventually("ready", || words[1].load(Ordering::Acquire) == 1);
        // The first signal may come before the wait.
        eventually("interrupted", || {
            waiter.signal(libc::SIGUSR1);
            waiter.has_ended()
        });
        assert_eq!(waiter.end(), 0);
    });
}

#[test]
fn a_64_bit_word_is_compared_whole() {
    bounded(|| {
        let word = AtomicU64::new(1 << 32 | 5);
        for other in [5, 1 << 32, 0, u64::MAX] {
            assert_eq!(wait64(&word, other, None), Ok(Waited::Mismatch));
        }
        assert_eq!(wait64(&word, 1 << 32 | 5, Some(&soon())), Ok(Waited::TimedOut));
        let signed = AtomicI64::new(i64::MIN);
        assert_eq!(wait64(&signed, 0, None), Ok(Waited::Mismatch));
        assert_eq!(wait64(&signed, i64::MIN, Some(&past())), Ok(Waited::TimedOut));
        assert_eq!(wake64(&signed, 1), Ok(0));
    });
}

#[test]
fn a_64_bit_wake_reaches_other_processes_in_order() {
    bounded(|| {
        let word = shared::<AtomicU64>();
        let by_policy = Scope::SHARED.by_memory_policy().of(&*word);
        let waiter = || child(|| (wait64(&*word, 0, None) != Ok(Waited::Woken)).into());
        let mut waiters = [waiter(), waiter(), waiter()];
        waiters[1].signal(libc::SIGKILL);
        assert_eq!(waiters[1].end(), -libc::SIGKILL);
        let mut woken = 0;
        eventually("both woken", || {
            woken += wake64(&*word, 2).unwrap();
            woken == 2
        });
        assert_eq!((waiters[0].end(), waiters[2].end()), (0, 0));
        let mut waiter = child(|| (wait64(&by_policy, 0, None) != Ok(Waited::Woken)).into());
        eventually("woken", || wake64(&by_policy, 1) == Ok(1));
        assert_eq!(waiter.end(), 0);
    });
}

/// What S-1 relies on: a 64-bit wake is a wake of half A.
#[test]
fn a_64_bit_wake_is_half_a_s() {
    bounded(|| {
        let word = shared::<[AtomicU32; 2]>();
        // SAFETY: of the size of the halves, at the start of a page; both are atomics throughout.
        let whole = unsafe { AtomicU64::from_ptr(word.as_ptr().cast_mut().cast()) };
        let queued = |half: usize| requeue(&word[half], &word[half], 0, 9).unwrap().moved == 1;
        let sleeper = |half: usize| {
            let waiter = child(|| (wait(&word[half], 0, None) != Ok(Waited::Woken)).into());
            eventually("queued", || queued(half));
            waiter
        };
        let mut on_b = sleeper(1);
        assert_eq!(wake64(whole, usize::MAX), Ok(0));
        let mut on_a = sleeper(0);
        assert_eq!(wake64(whole, usize::MAX), Ok(1));
        assert_eq!(on_a.end(), 0);
        assert!(queued(1) && !on_b.has_ended());
        assert_eq!(wake(&word[1], 1), Ok(1));
        assert_eq!(on_b.end(), 0);
    });
}

/// What the two sides of a race share. In each round one waits while the other changes the word and
/// wakes, at a moment that varies over the time that a wait takes to fall asleep.
struct Race {
    round: AtomicU32,
    /// How many the round's wake woke; below 0 until then.
    woken: AtomicI32,
    word: AtomicU64,
}

const OVER: u32 = u32::MAX;

/// One race runs at a time: a side without a processor of its own hits few moments.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

impl Race {
    fn change(&self, longest: u32, change_and_wake: impl Fn(u32) -> usize) -> i32 {
        let mut last = 0;
        loop {
            let mut spins = 0;
            let round = loop {
                match self.round.load(Ordering::Acquire) {
                    OVER => return 0,
                    round if round != last => break round,
                    _ => spin(&mut spins),
                }
            };
            last = round;
            (0..round.wrapping_mul(0x9e37_79b1) % longest).for_each(|_| std::hint::spin_loop());
            self.woken.store(change_and_wake(round) as i32, Ordering::Release);
        }
    }

    /// Runs rounds for `time`. Returns the round in which the wait slept through the change, if
    /// any.
    fn wait(
        &self,
        time: Duration,
        reset: impl Fn(u32),
        times_out: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let started = Instant::now();
        let rounds = (1..OVER).take_while(|_| started.elapsed() < time);
        let lost = rounds.into_iter().find(|round| {
            reset(*round);
            self.woken.store(-1, Ordering::Relaxed);
            self.round.store(*round, Ordering::Release);
            let timed_out = times_out(*round);
            let mut spins = 0;
            while self.woken.load(Ordering::Acquire) < 0 {
                spin(&mut spins);
            }
            timed_out && self.woken.load(Ordering::Relaxed) == 0
        });
        self.round.store(OVER, Ordering::Release);
        lost
    }
}

fn spin(spins: &mut u32) {
    *spins += 1;
    // The other side may need this processor.
    if *spins % 1024 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
}

/// The halves change by turns; the other one repeats.
fn changed(round: u32) -> u64 {
    if round % 2 == 0 { 1 } else { 1 << 32 }
}

fn change_one_half(race: &Race) -> i32 {
    race.change(300, |round| {
        race.word.store(changed(round), Ordering::SeqCst);
        wake64(&race.word, 1).unwrap_or(0)
    })
}

fn wait_for_one_half(race: &Race) -> Option<u32> {
    race.wait(
        Duration::from_secs(2),
        |_| race.word.store(0, Ordering::SeqCst),
        |_| {
            let deadline = Deadline::after(Duration::from_secs(5));
            wait64(&race.word, 0, Some(&deadline)).unwrap() == Waited::TimedOut
        },
    )
}

/// S-1, by another process.
#[test]
fn a_change_of_one_half_by_another_process_is_noticed_at_any_moment() {
    bounded(|| {
        let _alone = ALONE.lock();
        let race = shared::<Race>();
        let mut other = child(|| change_one_half(&race));
        assert_eq!(wait_for_one_half(&race), None, "a wake was lost in this round");
        assert_eq!(other.end(), 0);
    });
}

/// S-1, by another thread.
#[test]
fn a_change_of_one_half_by_another_thread_is_noticed_at_any_moment() {
    bounded(|| {
        let _alone = ALONE.lock();
        let race = shared::<Race>();
        std::thread::scope(|scope| {
            scope.spawn(|| change_one_half(&race));
            assert_eq!(wait_for_one_half(&race), None, "a wake was lost in this round");
        });
    });
}

/// The first of 128 words changes, and `woken` is woken: S-1's word, as it were, with half B so far
/// behind half A that the moment between them is easy to hit.
fn first_of_many_changes(woken: usize, time: Duration, patience: Duration) -> Option<u32> {
    let _alone = ALONE.lock();
    let words: [AtomicU32; MOST_WORDS] = std::array::from_fn(|_| AtomicU32::new(0));
    let all: Vec<_> = words.iter().map(|word| Awaited::new(word, 0)).collect();
    let race = shared::<Race>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            race.change(4_000, |_| {
                words[0].store(1, Ordering::SeqCst);
                wake(&words[woken], 1).unwrap()
            })
        });
        race.wait(
            time,
            |_| words[0].store(0, Ordering::SeqCst),
            |_| {
                let deadline = Deadline::after(patience);
                wait_any(&all, Some(&deadline)).unwrap() == WaitedAny::TimedOut
            },
        )
    })
}

#[test]
fn a_wake_on_the_word_queued_first_is_never_lost() {
    bounded(|| {
        assert_eq!(first_of_many_changes(0, Duration::from_secs(2), Duration::from_secs(5)), None);
    });
}

/// The mutant of S-1 in the kernel itself; every interleaving of it is in the crate's own tests.
#[test]
#[ignore = "a race that is won within seconds, given two processors with little else to do"]
fn a_wake_on_the_word_queued_last_is_lost() {
    bounded(|| {
        let last = MOST_WORDS - 1;
        let lost = first_of_many_changes(last, Duration::from_secs(20), Duration::from_millis(100));
        assert!(lost.is_some(), "the order of queueing doesn't matter?");
    });
}

/// One process changes a word as fast as it can, a half at a time, so that changes fall between the
/// checks of the halves. At every stop the waiters must notice.
#[test]
fn no_wake_is_lost_in_bursts() {
    bounded(|| {
        const STOPS: u64 = 1_500;
        let words = shared::<[AtomicU64; 3]>();
        let [word, seen_by_one, seen_by_other] = &*words;
        let watch = |seen: &AtomicU64| {
            for stop in 1..=STOPS {
                // A stop's value has its number in the upper half, and zero in the lower.
                let reached = |now: u64| now >> 32 >= stop && now & 0xffff_ffff == 0;
                loop {
                    let now = word.load(Ordering::Acquire);
                    if reached(now) {
                        break;
                    }
                    let deadline = Deadline::after(Duration::from_secs(5));
                    match wait64(word, now, Some(&deadline)) {
                        Ok(Waited::Woken | Waited::Mismatch) => {}
                        _ => return 1,
                    }
                }
                seen.store(stop, Ordering::Release);
            }
            0
        };
        let mut one = child(|| watch(seen_by_one));
        let mut other = child(|| watch(seen_by_other));
        for stop in 1..=STOPS {
            let change = |value: u64| {
                word.store(value, Ordering::Release);
                wake64(word, usize::MAX).unwrap();
            };
            let from = (stop - 1) << 32;
            for burst in 1..=stop % 8 {
                change(from | burst);
                change(from | 1 << 31 | burst);
            }
            // The lower half first, then the upper one alone: the lower repeats.
            change(from | 1);
            change(stop << 32 | 1);
            change(stop << 32);
            let started = Instant::now();
            while seen_by_one.load(Ordering::Acquire) < stop
                || seen_by_other.load(Ordering::Acquire) < stop
            {
                assert!(started.elapsed() < Duration::from_secs(10), "a wake was lost");
                std::thread::yield_now();
            }
        }
        assert_eq!((one.end(), other.end()), (0, 0), "a wake was lost");
    });
}
