//! An adaptive mutex that spins, yields and then parks, after parking_lot's (d'Antras 2016): three
//! looks with 2, 4 and 8 pauses between, seven after a yield each, then sleep. A thread may take
//! the lock past sleepers, and one that was woken spins anew.

use machine::atomic::{AtomicU32, Ordering};
use machine::hint::spin_loop;
use machine::{kernel_wait, kernel_wake, yield_now};

use super::Lock;

const LOCKED: u32 = 1;
const PARKED: u32 = 2;

#[derive(Default)]
pub struct Yielding {
    state: AtomicU32,
}

/// How long a thread has spun without finding the lock free.
#[derive(Default)]
struct Spin {
    rounds: u32,
}

impl Spin {
    /// False once the thread should park.
    fn goes_on(&mut self) -> bool {
        if self.rounds >= 10 {
            return false;
        }
        self.rounds += 1;
        if self.rounds <= 3 {
            (0..1 << self.rounds).for_each(|_| spin_loop());
        } else {
            yield_now();
        }
        true
    }
}

impl Lock for Yielding {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        if self.exchange(0, LOCKED).is_ok() {
            return;
        }
        let mut spin = Spin::default();
        // A thread that has slept can't know whether others sleep, and takes it that they do.
        let mut others_sleep = 0;
        let mut seen = self.state.load(Ordering::Relaxed);
        loop {
            if seen & LOCKED == 0 {
                match self.exchange(seen, seen | LOCKED | others_sleep) {
                    Ok(_) => return,
                    Err(now) => seen = now,
                }
                continue;
            }
            if seen & PARKED == 0 {
                if spin.goes_on() {
                    seen = self.state.load(Ordering::Relaxed);
                    continue;
                }
                if let Err(now) = self.exchange(seen, LOCKED | PARKED) {
                    seen = now;
                    continue;
                }
            }
            kernel_wait(&self.state, LOCKED | PARKED, None);
            others_sleep = PARKED;
            spin = Spin::default();
            seen = self.state.load(Ordering::Relaxed);
        }
    }

    fn unlock(&self) {
        if self.state.swap(0, Ordering::Release) & PARKED != 0 {
            kernel_wake(&self.state, 1);
        }
    }
}

impl Yielding {
    fn exchange(&self, seen: u32, new: u32) -> Result<u32, u32> {
        self.state.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed)
    }
}
