//! MUTEXEE (Falsafi, Guerraoui, Picorel and Trigonakis, "Unlocking Energy", USENIX ATC 2016): a
//! futex mutex that spins long before it sleeps, and whose release waits a little for a spinning
//! thread to take the lock before it wakes a sleeping one.

use machine::atomic::{AtomicU32, Ordering};
use machine::hint::spin_loop;
use machine::{kernel_wait, kernel_wake, virtual_ns};

use super::Lock;

/// About 8000 and 384 cycles at 2.8 GHz, the paper's.
const SPIN_NS: u64 = 2_900;
const LINGER_NS: u64 = 137;

const FREE: u32 = 0;
const TAKEN: u32 = 1;

#[derive(Default)]
pub struct Mutexee {
    state: AtomicU32,
    sleepers: AtomicU32,
}

impl Mutexee {
    fn try_take(&self) -> bool {
        self.state.load(Ordering::Relaxed) == FREE
            && self.state.swap(TAKEN, Ordering::Acquire) == FREE
    }

    fn spins_into_it(&self) -> bool {
        let end = virtual_ns() + SPIN_NS;
        while virtual_ns() < end {
            if self.try_take() {
                return true;
            }
            spin_loop();
        }
        false
    }
}

impl Lock for Mutexee {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        if self.state.swap(TAKEN, Ordering::Acquire) == FREE || self.spins_into_it() {
            return;
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.state.swap(TAKEN, Ordering::SeqCst) != FREE {
            kernel_wait(&self.state, TAKEN, None);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn unlock(&self) {
        self.state.swap(FREE, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) == 0 {
            return;
        }
        let end = virtual_ns() + LINGER_NS;
        while virtual_ns() < end {
            if self.state.load(Ordering::Relaxed) == TAKEN {
                return;
            }
            spin_loop();
        }
        kernel_wake(&self.state, 1);
    }
}
