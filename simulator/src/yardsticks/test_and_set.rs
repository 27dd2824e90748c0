//! Test-and-test-and-set (Rudolph and Segall 1984), plain and with exponential backoff (Anderson
//! 1990): all waiters look at one word, and all try for it when it is free.

use machine::atomic::{AtomicU32, Ordering};
use machine::work_ns;

use super::{Lock, TryLock};

#[derive(Default)]
pub struct TestAndSet {
    taken: AtomicU32,
}

impl Lock for TestAndSet {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        loop {
            self.taken.spin_until(Ordering::Relaxed, |taken| taken == 0);
            if self.taken.swap(1, Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    fn unlock(&self) {
        self.taken.store(0, Ordering::Release);
    }
}

impl TryLock for TestAndSet {
    fn try_lock(&self) -> bool {
        self.taken.swap(1, Ordering::Acquire) == 0
    }
}

/// The first delay and the longest one. They are times and not numbers of pauses, since a pause
/// takes a few cycles on one processor and 140 on another. Concurrency Kit's and LiTL's longest is
/// 2^20 pauses, milliseconds: here it is what a lock is held for by some tens of threads in turn.
const DELAY_NS: u64 = 500;
const DELAY_MAX_NS: u64 = 16_000;

/// Each look that finds the lock taken doubles the delay before the next.
#[derive(Default)]
pub struct Backoff {
    taken: AtomicU32,
}

impl Lock for Backoff {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        let mut delay = DELAY_NS;
        loop {
            while self.taken.load(Ordering::Relaxed) != 0 {
                work_ns(delay);
                delay = (delay * 2).min(DELAY_MAX_NS);
            }
            if self.taken.swap(1, Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    fn unlock(&self) {
        self.taken.store(0, Ordering::Release);
    }
}
