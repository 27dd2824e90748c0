//! The ticket lock (Reed and Kanodia 1979; Mellor-Crummey and Scott 1991): first come, first
//! served, and all waiters look at one counter.

use machine::atomic::{AtomicU32, Ordering};

use super::{Lock, TryLock};

/// Both counters lie on one cache line, as in LiTL and in Linux until 4.2.
#[derive(Default)]
pub struct Ticket {
    next: AtomicU32,
    served: AtomicU32,
}

impl Lock for Ticket {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        self.served.spin_until(Ordering::Acquire, |served| served == ticket);
    }

    fn unlock(&self) {
        // Only the holder writes it.
        let served = self.served.load(Ordering::Relaxed);
        self.served.store(served.wrapping_add(1), Ordering::Release);
    }
}

impl TryLock for Ticket {
    fn try_lock(&self) -> bool {
        let served = self.served.load(Ordering::Relaxed);
        let next = served.wrapping_add(1);
        self.next.compare_exchange(served, next, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}
