//! Barriers: the sense-reversing one whose threads spin (Mellor-Crummey and Scott 1991), and
//! glibc's as it behaves, whose last thread wakes all others with one call.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};
use machine::{kernel_wait, kernel_wake};

use super::{Barrier, Padded, thread_index};

pub struct SpinningBarrier {
    threads: u32,
    missing: Padded<AtomicU32>,
    sense: Padded<AtomicU32>,
    /// Each thread's own.
    senses: Box<[Cell<u32>]>,
}

impl Barrier for SpinningBarrier {
    fn new(threads: usize) -> Self {
        let count = threads as u32;
        SpinningBarrier {
            threads: count,
            missing: Padded(AtomicU32::new(count)),
            sense: Padded(AtomicU32::new(0)),
            senses: (0..=threads).map(|_| Cell::new(0)).collect(),
        }
    }

    fn wait(&self) {
        let own = &self.senses[thread_index()];
        let sense = 1 - own.get();
        own.set(sense);
        if self.missing.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.missing.0.store(self.threads, Ordering::Relaxed);
            self.sense.0.store(sense, Ordering::Release);
            return;
        }
        self.sense.0.spin_until(Ordering::Acquire, |now| now == sense);
    }
}

pub struct GlibcBarrier {
    threads: u32,
    /// How many have ever come, and in which round those that wait now are.
    come: AtomicU32,
    round: AtomicU32,
}

impl Barrier for GlibcBarrier {
    fn new(threads: usize) -> Self {
        GlibcBarrier { threads: threads as u32, come: AtomicU32::new(0), round: AtomicU32::new(0) }
    }

    fn wait(&self) {
        let own = self.come.fetch_add(1, Ordering::AcqRel) + 1;
        if own.is_multiple_of(self.threads) {
            self.round.store(own, Ordering::Release);
            kernel_wake(&self.round, usize::MAX);
            return;
        }
        loop {
            let round = self.round.load(Ordering::Acquire);
            if round >= own {
                return;
            }
            kernel_wait(&self.round, round, None);
        }
    }
}
