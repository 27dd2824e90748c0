//! What waking many costs the waker, and when all are awake: furwock's fan-out beside the two plain
//! ways. `cargo bench -p furwock --bench wake_all`
//!
//! - *one by one*: each sleeper on a kernel futex of its own, a system call for each;
//! - *one word*: all on the same kernel futex, woken by one system call;
//! - *fan-out*: `furwock::futex::wake_all`.
//!
//! The rounds of the three are interleaved; medians, in microseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    OneByOne,
    OneWord,
    FanOut,
}

const WAYS: [Way; 3] = [Way::OneByOne, Way::OneWord, Way::FanOut];

fn kernel_futex(word: &AtomicU32, op: i32, value: u32) {
    // SAFETY: a live word; no timeout.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            op | libc::FUTEX_PRIVATE_FLAG,
            value,
            core::ptr::null::<libc::timespec>(),
        )
    };
}

/// Wakes `count` sleepers once. Returns what the waker paid, and when the last was awake.
fn round(way: Way, count: usize) -> (Duration, Duration) {
    let words: Arc<Vec<AtomicU32>> = Arc::new((0..count).map(|_| AtomicU32::new(0)).collect());
    let word_of = move |number| if way == Way::OneByOne { number } else { 0 };
    let awake = Arc::new(AtomicUsize::new(0));
    let asleep = Arc::new(AtomicUsize::new(0));
    let sleepers: Vec<_> = (0..count)
        .map(|number| {
            let (words, awake, asleep) =
                (Arc::clone(&words), Arc::clone(&awake), Arc::clone(&asleep));
            thread::spawn(move || {
                let word = &words[word_of(number)];
                asleep.fetch_add(1, Ordering::SeqCst);
                while word.load(Ordering::Acquire) == 0 {
                    match way {
                        Way::FanOut => _ = furwock::futex::wait(word, 0, None),
                        _ => kernel_futex(word, libc::FUTEX_WAIT, 0),
                    }
                }
                awake.fetch_add(1, Ordering::SeqCst);
            })
        })
        .collect();
    while asleep.load(Ordering::SeqCst) != count {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(10));

    let started = Instant::now();
    match way {
        Way::OneByOne => {
            for word in words.iter() {
                word.store(1, Ordering::Release);
                kernel_futex(word, libc::FUTEX_WAKE, 1);
            }
        }
        Way::OneWord => {
            words[0].store(1, Ordering::Release);
            kernel_futex(&words[0], libc::FUTEX_WAKE, i32::MAX as u32);
        }
        Way::FanOut => {
            words[0].store(1, Ordering::Release);
            furwock::futex::wake_all(&words[0]);
        }
    }
    let paid = started.elapsed();
    while awake.load(Ordering::SeqCst) != count {
        thread::yield_now();
    }
    let all_awake = started.elapsed();
    sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    (paid, all_awake)
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort();
    samples[samples.len() / 2].as_secs_f64() * 1e6
}

fn main() {
    println!("{:>8}  {:<10} {:>12} {:>12}", "sleepers", "way", "waker pays", "all awake");
    for count in [4, 16, 64, 256, 1000] {
        let mut samples = WAYS.map(|way| (way, Vec::new(), Vec::new()));
        for _ in 0..ROUNDS {
            for (way, paid, all_awake) in &mut samples {
                let (one, other) = round(*way, count);
                paid.push(one);
                all_awake.push(other);
            }
        }
        for (way, paid, all_awake) in samples {
            let name = format!("{way:?}");
            println!(
                "{count:>8}  {name:<10} {:>9.1} us {:>9.1} us",
                median(paid),
                median(all_awake)
            );
        }
    }
}
