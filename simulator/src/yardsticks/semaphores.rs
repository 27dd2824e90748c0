//! glibc's semaphore since 2.21 as it behaves (Riegel 2014): the value and the number of sleepers
//! in one 64-bit word, sleepers on the value's half. A post wakes one sleeper, past which running
//! threads may take the permit.

use machine::atomic::{AtomicU32, AtomicU64, Ordering};
use machine::{kernel_wait, kernel_wake};

use super::Semaphore;

const SLEEPER: u64 = 1 << 32;

pub struct GlibcSemaphore {
    /// The value, and above it the number of sleepers.
    state: AtomicU64,
    /// What they sleep on: glibc's is the lower half of `state`, here it follows it.
    posts: AtomicU32,
}

fn value(state: u64) -> u64 {
    state & (SLEEPER - 1)
}

impl GlibcSemaphore {
    fn try_acquire(&self, leaving: u64) -> bool {
        let mut seen = self.state.load(Ordering::Relaxed);
        while value(seen) > 0 {
            let new = seen - 1 - leaving;
            match self.state.compare_exchange_weak(seen, new, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }
}

impl Semaphore for GlibcSemaphore {
    fn new(permits: u32) -> Self {
        GlibcSemaphore { state: AtomicU64::new(permits.into()), posts: AtomicU32::new(0) }
    }

    fn acquire(&self) {
        if self.try_acquire(0) {
            return;
        }
        self.state.fetch_add(SLEEPER, Ordering::SeqCst);
        loop {
            let posts = self.posts.load(Ordering::SeqCst);
            if self.try_acquire(SLEEPER) {
                return;
            }
            kernel_wait(&self.posts, posts, None);
        }
    }

    fn release(&self) {
        if self.state.fetch_add(1, Ordering::Release) >= SLEEPER {
            self.posts.fetch_add(1, Ordering::SeqCst);
            kernel_wake(&self.posts, 1);
        }
    }
}
