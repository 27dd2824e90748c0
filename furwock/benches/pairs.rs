//! What an uncontended lock and unlock cost, for the locks that need the kernel, beside glibc's and
//! the plain mutex. `cargo bench -p furwock --bench pairs`
//!
//! A second thread exists, because glibc uses no locked instructions in a process of one thread.
//! Rounds are interleaved; medians, in nanoseconds.

use furwock::lock::RawMutex;
use furwock::lock::pi::{RawPiMutex, Scope};
use furwock::{RobustMutex, RobustRwLock};
use std::hint::black_box;
use std::pin::Pin;
use std::time::Instant;

const ROUNDS: usize = 21;
const PAIRS: u32 = 500_000;

type Pair = Box<dyn Fn()>;

/// A pair on a mutex of glibc's with the attributes that `choose` sets.
fn glibcs(choose: impl Fn(*mut libc::pthread_mutexattr_t)) -> Pair {
    let mutex = Box::into_raw(Box::new(libc::PTHREAD_MUTEX_INITIALIZER));
    // SAFETY: an attribute object of this function's own, and a mutex that nothing uses yet.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        choose(&mut attributes);
        assert_eq!(libc::pthread_mutex_init(mutex, &attributes), 0);
    }
    // SAFETY: initialised above, and never freed.
    Box::new(move || unsafe {
        libc::pthread_mutex_lock(black_box(mutex));
        libc::pthread_mutex_unlock(black_box(mutex));
    })
}

fn main() {
    static PLAIN: RawMutex = RawMutex::new();
    static PI: RawPiMutex = RawPiMutex::new(Scope::Private);
    static MUTEX: RobustMutex<u64> = RobustMutex::new(0);
    static LOCK: RobustRwLock<u64> = RobustRwLock::new(0);
    let (mutex, lock) = (Pin::static_ref(&MUTEX), Pin::static_ref(&LOCK));
    // SAFETY: attributes of the caller's.
    let inherits = |attributes| unsafe {
        libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT);
    };
    // SAFETY: the same.
    let is_robust = |attributes| unsafe {
        libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST);
        libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED);
    };
    let pairs: [(&str, Pair); 7] = [
        (
            "RawMutex",
            Box::new(|| {
                black_box(&PLAIN).lock();
                black_box(&PLAIN).unlock();
            }),
        ),
        ("glibc, PI", glibcs(inherits)),
        (
            "RawPiMutex",
            Box::new(|| {
                _ = black_box(&PI).lock();
                _ = black_box(&PI).unlock();
            }),
        ),
        ("glibc, robust, pshared", glibcs(is_robust)),
        ("RobustMutex", Box::new(move || drop(mutex.lock()))),
        ("RobustRwLock, read", Box::new(move || drop(lock.read()))),
        ("RobustRwLock, write", Box::new(move || drop(lock.write()))),
    ];
    std::thread::spawn(std::thread::park);
    let mut times = [const { Vec::new() }; 7];
    for _ in 0..ROUNDS {
        for (times, (_, pair)) in times.iter_mut().zip(&pairs) {
            let started = Instant::now();
            (0..PAIRS).for_each(|_| pair());
            times.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS));
        }
    }
    for (times, (name, _)) in times.iter_mut().zip(&pairs) {
        times.sort_by(f64::total_cmp);
        println!("{name:<24} {:6.1} ns a lock and unlock", times[ROUNDS / 2]);
    }
}
