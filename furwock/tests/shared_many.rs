//! Waits on several shared words at once, and on shared words of 64 bits.

mod common;
mod process;

use common::{bounded, eventually};
use furwock::shared::{
    Awaited, Error, MOST_WORDS, NumaWord, Scope, Waited, WaitedAny, wait_any, wait64, wake, wake64,
};
use furwock::{Clock, Deadline};
use process::{Shared, child};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn shared<T: Sync>() -> Shared<T> {
    // SAFETY: the tests share atomics, and structs and arrays of them.
    unsafe { Shared::zeroed() }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(20))
}

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
        let past = Deadline::at(Clock::Realtime, 0, 0).unwrap();
        assert_eq!(wait_any(&awaited([7, 1, 2]), Some(&past)), Ok(WaitedAny::Mismatch(Some(0))));
        assert_eq!(wait_any(&awaited([0, 1, 2]), Some(&past)), Ok(WaitedAny::TimedOut));
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

extern "C" fn ignore(_: i32) {}

#[test]
fn a_signal_interrupts_a_wait_for_any() {
    bounded(|| {
        let words = shared::<[AtomicU32; 2]>();
        let mut waiter = child(|| {
            // SAFETY: all zeroes are a sigaction without flags; the handler does nothing.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = ignore as *const () as usize;
                libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
            }
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
        let past = Deadline::at(Clock::Realtime, 0, 0).unwrap();
        assert_eq!(wait64(&signed, i64::MIN, Some(&past)), Ok(Waited::TimedOut));
        assert_eq!(wake64(&signed, 1), Ok(0));
    });
}

#[test]
fn a_64_bit_wake_reaches_other_processes_in_order() {
    bounded(|| {
        let word = shared::<AtomicU64>();
        let by_policy = Scope::SHARED.by_memory_policy().of(&*word);
        let waiter = || child(|| if wait64(&*word, 0, None) == Ok(Waited::Woken) { 0 } else { 1 });
        let mut waiters = [waiter(), waiter(), waiter()];
        waiters[1].signal(libc::SIGKILL);
        assert_eq!(waiters[1].end(), -libc::SIGKILL);
        let mut woken = 0;
        eventually("both woken", || {
            woken += wake64(&*word, 2).unwrap();
            woken == 2
        });
        assert_eq!((waiters[0].end(), waiters[2].end()), (0, 0));
        let mut waiter =
            child(|| if wait64(&by_policy, 0, None) == Ok(Waited::Woken) { 0 } else { 1 });
        eventually("woken", || wake64(&by_policy, 1) == Ok(1));
        assert_eq!(waiter.end(), 0);
    });
}

/// The round-th value, each of which differs from the last in one half only, by turns.
fn value(round: u64) -> u64 {
    (round / 2) << 32 | round.div_ceil(2)
}

fn round(value: u64) -> u64 {
    (value >> 32) + (value & 0xffff_ffff)
}

/// Waits for `mine`; `false` if a wake was lost.
fn await_round(word: &AtomicU64, is_mine: impl Fn(u64) -> bool) -> Option<u64> {
    loop {
        let now = word.load(Ordering::Acquire);
        if is_mine(round(now)) {
            return Some(round(now));
        }
        let deadline = Deadline::after(Duration::from_secs(5));
        match wait64(word, now, Some(&deadline)) {
            Ok(Waited::Woken | Waited::Mismatch) => {}
            _ => return None,
        }
    }
}

/// S-1: players pass a token, in words of which one half repeats at every step. A lost wake ends a
/// wait by its deadline.
fn play(word: &AtomicU64, players: u64, me: u64, rounds: u64) -> bool {
    loop {
        let Some(now) = await_round(word, |now| now % players == me || now >= rounds) else {
            return false;
        };
        if now >= rounds {
            return true;
        }
        word.store(value(now + 1), Ordering::Release);
        if wake64(word, usize::MAX).is_err() {
            return false;
        }
    }
}

#[test]
fn no_wake_is_lost_between_processes_when_one_half_repeats() {
    bounded(|| {
        let word = shared::<AtomicU64>();
        let mut others = [1, 2].map(|me| child(|| i32::from(!play(&word, 3, me, 30_000))));
        assert!(play(&word, 3, 0, 30_000), "a wake was lost");
        for other in &mut others {
            assert_eq!(other.end(), 0, "a wake was lost");
        }
    });
}

#[test]
fn no_wake_is_lost_between_threads_when_one_half_repeats() {
    bounded(|| {
        let word = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for me in 0..2 {
                let word = &word;
                scope.spawn(move || assert!(play(word, 2, me, 50_000), "a wake was lost"));
            }
        });
    });
}

/// One process changes a word to and fro as fast as it can, a half at a time, so that changes fall
/// between the checks of the halves; at every stop the waiters must get to know.
#[test]
fn no_wake_is_lost_in_bursts() {
    bounded(|| {
        const STOPS: u64 = 1_500;
        let words = shared::<[AtomicU64; 3]>();
        let [word, seen_by_one, seen_by_other] = &*words;
        let watch = |seen: &AtomicU64| {
            for stop in 1..=STOPS {
                // A stop is a value whose upper half names it, with the lower one empty.
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
