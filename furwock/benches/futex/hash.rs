//! perf bench's futex hash: each thread waits on its own futexes in turn, with values that don't
//! match, so that only the way into the table and out again is measured.

use super::{interleaved, kernel};
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROUND: Duration = Duration::from_millis(60);

#[derive(Clone, Copy)]
enum Way {
    Kernel,
    Words,
    ByNumber,
    /// Without the check that needs no lock: each wait takes its bucket.
    Buckets,
}

const WAYS: [Way; 4] = [Way::Kernel, Way::Words, Way::ByNumber, Way::Buckets];

fn wait(way: Way, word: &AtomicU32) {
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    match way {
        Way::Kernel => _ = kernel::futex(word, op, 1234, 0, None),
        Way::Words => _ = black_box(furwock::futex::wait(word, 1234, None)),
        Way::Buckets => _ = black_box(furwock::unstable::wait_in_bucket(word, 1234, None)),
        Way::ByNumber => {
            let (no_timeout, no_word) = (std::ptr::null(), std::ptr::null_mut());
            // SAFETY: a live word, and nothing that writes.
            _ = black_box(unsafe {
                furwock::linux::futex(word.as_ptr(), op, 1234, no_timeout, no_word, 0)
            });
        }
    }
}

/// Millions of operations a second and thread.
fn round(way: Way, threads: usize, futexes: usize) -> f64 {
    let (start, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let rates: Vec<f64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|number| {
                let (start, stop) = (&start, &stop);
                scope.spawn(move || {
                    kernel::pin(number);
                    let words: Vec<AtomicU32> = (0..futexes).map(|_| AtomicU32::new(0)).collect();
                    let mut operations = 0u64;
                    start.wait();
                    let started = Instant::now();
                    while !stop.load(Ordering::Relaxed) {
                        for _ in 0..(1024 / futexes).max(1) {
                            words.iter().for_each(|word| wait(way, black_box(word)));
                        }
                        operations += (futexes * (1024 / futexes).max(1)) as u64;
                    }
                    operations as f64 / started.elapsed().as_secs_f64() / 1e6
                })
            })
            .collect();
        start.wait();
        thread::sleep(ROUND);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    rates.iter().sum::<f64>() / threads as f64
}

pub fn run() {
    let most = thread::available_parallelism().map_or(1, usize::from);
    println!("hash: millions of waits with a mismatch, a second and thread");
    println!(
        "{:>7} {:>7} {:>9} {:>14} {:>16} {:>22} {:>16}",
        "threads", "futexes", "kernel", "furwock", "by number", "bucket taken", "x kernel"
    );
    for threads in if most == 1 { vec![1] } else { vec![1, most] } {
        for futexes in [1, 8, 64, 512, 1024, 4096] {
            let rates = interleaved(7, &WAYS, |way| round(way, threads, futexes));
            let [kernel, words, by_number, buckets] = rates[..] else { unreachable!() };
            println!(
                "{threads:>7} {futexes:>7} {kernel:>9.2} {words:>14.1} {by_number:>16.1} \
                 {buckets:>22.1} {:>16}",
                format!("{:.0} {:.0} {:.1}", words / kernel, by_number / kernel, buckets / kernel)
            );
        }
    }
}
