//! glibc's mutex as it behaves: the plain kind sleeps at once, the adaptive kind spins a little, and
//! both may be taken past sleepers. The owner and the count of users lie beside the lock word.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};
use machine::hint::spin_loop;

use super::futex_mutex::{release, try_take, wait_and_take};
use super::{Lock, thread_index};

/// The words of a `pthread_mutex_t` that each lock and unlock writes.
#[derive(Default)]
struct Words {
    lock: AtomicU32,
    owner: AtomicU32,
    users: AtomicU32,
}

impl Words {
    /// What the new holder notes.
    fn taken(&self) {
        self.owner.store(thread_index() as u32 + 1, Ordering::Relaxed);
        let users = self.users.load(Ordering::Relaxed);
        self.users.store(users + 1, Ordering::Relaxed);
    }

    fn unlock(&self) {
        self.owner.store(0, Ordering::Relaxed);
        let users = self.users.load(Ordering::Relaxed);
        self.users.store(users - 1, Ordering::Relaxed);
        release(&self.lock);
    }

    fn lock_slowly(&self) {
        if let Err(seen) = try_take(&self.lock) {
            wait_and_take(&self.lock, seen);
        }
    }
}

/// `PTHREAD_MUTEX_NORMAL`.
#[derive(Default)]
pub struct GlibcMutex(Words);

impl Lock for GlibcMutex {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        self.0.lock_slowly();
        self.0.taken();
    }

    fn unlock(&self) {
        self.0.unlock();
    }
}

/// The most that a thread spins.
const SPINS_MAX: i32 = 100;

/// `PTHREAD_MUTEX_ADAPTIVE_NP` as it was until glibc 2.35: each look is a compare-and-exchange, and
/// the mutex keeps an average of how many it took.
#[derive(Default)]
pub struct GlibcAdaptiveMutex {
    words: Words,
    /// On the same line as the lock, and written by its holder only.
    spins: Cell<i32>,
}

impl Lock for GlibcAdaptiveMutex {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        if try_take(&self.words.lock).is_err() {
            let most = SPINS_MAX.min(self.spins.get() * 2 + 10);
            let mut count = 0;
            loop {
                if count >= most {
                    self.words.lock_slowly();
                    break;
                }
                count += 1;
                spin_loop();
                if try_take(&self.words.lock).is_ok() {
                    break;
                }
            }
            self.spins.set(self.spins.get() + (count - self.spins.get()) / 8);
        }
        self.words.taken();
    }

    fn unlock(&self) {
        self.words.unlock();
    }
}
