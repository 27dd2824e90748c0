//! The three-state futex mutex (Drepper, "Futexes are tricky", 2011), as the paper has it and as
//! Rust's standard library does.

use machine::atomic::{AtomicU32, Ordering};
use machine::hint::spin_loop;
use machine::{kernel_wait, kernel_wake};

use super::Lock;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and threads may sleep.
const CONTENDED: u32 = 2;

/// The paper's `mutex2`: a thread that finds the lock taken sleeps at once.
#[derive(Default)]
pub struct FutexMutex {
    state: AtomicU32,
}

impl Lock for FutexMutex {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        if let Err(seen) = try_take(&self.state) {
            wait_and_take(&self.state, seen);
        }
    }

    fn unlock(&self) {
        release(&self.state);
    }
}

/// Rust's standard library's: up to 100 looks while the lock is taken and no thread sleeps.
#[derive(Default)]
pub struct StdMutex {
    state: AtomicU32,
}

impl StdMutex {
    fn spin(&self) -> u32 {
        let mut looks = 100;
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            if seen != TAKEN || looks == 0 {
                return seen;
            }
            spin_loop();
            looks -= 1;
        }
    }
}

impl Lock for StdMutex {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        if try_take(&self.state).is_ok() {
            return;
        }
        let mut seen = self.spin();
        if seen == FREE {
            match try_take(&self.state) {
                Ok(()) => return,
                Err(now) => seen = now,
            }
        }
        loop {
            if seen != CONTENDED && self.state.swap(CONTENDED, Ordering::Acquire) == FREE {
                return;
            }
            kernel_wait(&self.state, CONTENDED, None);
            seen = self.spin();
        }
    }

    fn unlock(&self) {
        release(&self.state);
    }
}

pub fn try_take(state: &AtomicU32) -> Result<(), u32> {
    state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
}

/// From then on the state says that threads may sleep, as the caller can't know.
pub fn wait_and_take(state: &AtomicU32, seen: u32) {
    if seen == CONTENDED {
        kernel_wait(state, CONTENDED, None);
    }
    while state.swap(CONTENDED, Ordering::Acquire) != FREE {
        kernel_wait(state, CONTENDED, None);
    }
}

pub fn release(state: &AtomicU32) {
    if state.swap(FREE, Ordering::Release) == CONTENDED {
        kernel_wake(state, 1);
    }
}
