//! What a lock and unlock cost while nobody waits: furwock's PI mutex beside glibc's
//! (`PTHREAD_PRIO_INHERIT`). `cargo bench -p furwock --bench pi_mutex`
//!
//! A second thread exists, since glibc has a shorter way for the only one. Rounds are interleaved;
//! medians, in nanoseconds a pair.

use furwock::lock::pi::{RawPiMutex, Scope};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 21;
const PAIRS: u32 = 2_000_000;

fn pthread_mutex() -> UnsafeCell<libc::pthread_mutex_t> {
    let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
    // SAFETY: an attribute object of this function's own, and a mutex that nobody uses yet.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_setprotocol(&mut attributes, libc::PTHREAD_PRIO_INHERIT);
        assert_eq!(libc::pthread_mutex_init(mutex.get(), &attributes), 0);
    }
    mutex
}

fn nanoseconds_a_pair(pair: impl Fn()) -> f64 {
    let started = Instant::now();
    (0..PAIRS).for_each(|_| pair());
    started.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn main() {
    let second = std::thread::spawn(std::thread::park);
    let (ours, theirs) = (RawPiMutex::new(Scope::Private), pthread_mutex());
    let plain = furwock::lock::RawMutex::new();
    let mut samples = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        samples[0].push(nanoseconds_a_pair(|| {
            let mutex = black_box(&ours);
            _ = mutex.lock();
            _ = mutex.unlock();
        }));
        samples[1].push(nanoseconds_a_pair(|| {
            let mutex = black_box(theirs.get());
            // SAFETY: an initialised mutex, locked and unlocked by this thread.
            unsafe {
                libc::pthread_mutex_lock(mutex);
                libc::pthread_mutex_unlock(mutex);
            }
        }));
        samples[2].push(nanoseconds_a_pair(|| {
            let mutex = black_box(&plain);
            mutex.lock();
            mutex.unlock();
        }));
    }
    second.thread().unpark();
    second.join().unwrap();
    for (name, samples) in ["furwock", "glibc", "furwock, plain"].into_iter().zip(samples) {
        println!("{name:<16} {:>6.1} ns", median(samples));
    }
}
