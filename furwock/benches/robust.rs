//! An uncontended robust mutex, and a read and a write lock, beside glibc's robust process-shared
//! mutex: interleaved rounds, median of each.

use furwock::{RobustMutex, RobustRwLock};
use std::pin::Pin;
use std::time::Instant;

const ROUNDS: usize = 41;
const PAIRS: u32 = 200_000;

/// Locks and unlocks.
type Pair = Box<dyn Fn()>;

fn main() {
    static MUTEX: RobustMutex<u64> = RobustMutex::new(0);
    static LOCK: RobustRwLock<u64> = RobustRwLock::new(0);
    let (mutex, lock) = (Pin::static_ref(&MUTEX), Pin::static_ref(&LOCK));
    // SAFETY: initialised by pthread's functions, and lives to the end.
    let theirs = unsafe {
        let mut attributes = std::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
        libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
        let theirs = Box::into_raw(Box::new(libc::PTHREAD_MUTEX_INITIALIZER));
        libc::pthread_mutex_init(theirs, &attributes);
        theirs
    };
    let candidates: [(&str, Pair); 4] = [
        (
            "glibc, robust, pshared",
            // SAFETY: initialised above.
            Box::new(move || unsafe {
                libc::pthread_mutex_lock(theirs);
                libc::pthread_mutex_unlock(theirs);
            }),
        ),
        ("RobustMutex", Box::new(move || drop(mutex.lock()))),
        ("RobustRwLock, read", Box::new(move || drop(lock.read()))),
        ("RobustRwLock, write", Box::new(move || drop(lock.write()))),
    ];
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for (times, (_, pair)) in times.iter_mut().zip(&candidates) {
            let started = Instant::now();
            (0..PAIRS).for_each(|_| pair());
            times.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS));
        }
    }
    for (times, (name, _)) in times.iter_mut().zip(&candidates) {
        times.sort_by(f64::total_cmp);
        println!("{name:<24} {:6.1} ns a lock and unlock", times[ROUNDS / 2]);
    }
}
