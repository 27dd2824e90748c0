//! glibc's mutex as it behaves: the plain kind sleeps at once, the adaptive kind spins a little,
//! and both may be taken past sleepers. The owner and the count of users lie on the lock word's
//! line and are written right before or after an exchange of it: they move no line.

use std::cell::Cell;

use machine::atomic::AtomicU32;
use machine::hint::spin_loop;
use machine::work_ns;

use super::futex_mutex::{release, try_take, wait_and_take};
use super::{Lock, TryLock};

/// What a call through the library's table, the kind of mutex, owner and users take.
const OWNER_NS: u64 = 2;

fn lock_slowly(lock: &AtomicU32) {
    if let Err(seen) = try_take(lock) {
        wait_and_take(lock, seen);
    }
}

/// `PTHREAD_MUTEX_NORMAL`.
#[derive(Default)]
pub struct GlibcMutex {
    lock: AtomicU32,
}

impl Lock for GlibcMutex {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        work_ns(OWNER_NS);
        lock_slowly(&self.lock);
    }

    fn unlock(&self) {
        work_ns(OWNER_NS);
        release(&self.lock);
    }
}

/// The most that a thread spins.
const SPINS_MAX: i32 = 100;

/// `PTHREAD_MUTEX_ADAPTIVE_NP` as it was until glibc 2.35: each look is a compare-and-exchange, and
/// the mutex keeps an average of how many it took.
#[derive(Default)]
pub struct GlibcAdaptiveMutex {
    lock: AtomicU32,
    /// On the same line as the lock, and written by its holder only.
    spins: Cell<i32>,
}

impl Lock for GlibcAdaptiveMutex {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        work_ns(OWNER_NS);
        if try_take(&self.lock).is_err() {
            let most = SPINS_MAX.min(self.spins.get() * 2 + 10);
            let mut count = 0;
            loop {
                if count >= most {
                    lock_slowly(&self.lock);
                    break;
                }
                count += 1;
                spin_loop();
                if try_take(&self.lock).is_ok() {
                    break;
                }
            }
            self.spins.set(self.spins.get() + (count - self.spins.get()) / 8);
        }
    }

    fn unlock(&self) {
        work_ns(OWNER_NS);
        release(&self.lock);
    }
}

impl TryLock for GlibcMutex {
    fn try_lock(&self) -> bool {
        work_ns(OWNER_NS);
        try_take(&self.lock).is_ok()
    }
}

impl TryLock for GlibcAdaptiveMutex {
    fn try_lock(&self) -> bool {
        work_ns(OWNER_NS);
        try_take(&self.lock).is_ok()
    }
}
