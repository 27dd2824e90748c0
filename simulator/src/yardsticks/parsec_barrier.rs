//! PARSEC's barrier (Bienia 2009), which streamcluster waits at: a mutex, a count, and a phase.
//! Threads enter and leave it one by one, each under the mutex. A thread that waits for the phase
//! looks at it for 0.1 ms, and then tries for the mutex without a pause until it has it.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};
use machine::{kernel_wait, kernel_wake, virtual_ns, work_ns};

use super::{Barrier, Padded, TryLock};

/// 35,000 looks, which PARSEC takes for 0.1 ms.
const SPIN_NS: u64 = 100_000;
/// Between two looks. A look takes 3 ns; the host would have no end of them.
const LOOK_NS: u64 = 150;

const ARRIVE: u32 = 1;
const LEAVE: u32 = 0;

pub struct ParsecBarrier<L> {
    mutex: L,
    threads: u32,
    /// The count lies on the phase's line: each thread that comes or goes takes it from those that
    /// look at the phase.
    state: Padded<State>,
    /// The condition variable: the number of broadcasts, and whether any thread sleeps.
    broadcasts: Padded<AtomicU32>,
    sleepers: Cell<u32>,
}

#[derive(Default)]
struct State {
    phase: AtomicU32,
    count: AtomicU32,
}

impl<L: TryLock> Barrier for ParsecBarrier<L> {
    fn new(threads: usize) -> Self {
        ParsecBarrier {
            mutex: L::new(threads),
            threads: u32::try_from(threads).expect("few threads"),
            state: Padded(State { phase: AtomicU32::new(ARRIVE), count: AtomicU32::new(0) }),
            broadcasts: Padded(AtomicU32::new(0)),
            sleepers: Cell::new(0),
        }
    }

    fn wait(&self) {
        let state = &self.state.0;
        self.mutex.lock();
        if state.phase.load(Ordering::Relaxed) != ARRIVE {
            self.until(ARRIVE);
        }
        let count = state.count.load(Ordering::Relaxed) + 1;
        state.count.store(count, Ordering::Relaxed);
        if count == self.threads {
            state.phase.store(LEAVE, Ordering::Relaxed);
            self.broadcast();
        } else if state.phase.load(Ordering::Relaxed) != LEAVE {
            self.until(LEAVE);
        }
        let count = state.count.load(Ordering::Relaxed) - 1;
        state.count.store(count, Ordering::Relaxed);
        if count == 0 {
            state.phase.store(ARRIVE, Ordering::Relaxed);
            self.broadcast();
        }
        self.mutex.unlock();
    }
}

impl<L: TryLock> ParsecBarrier<L> {
    /// Gives the mutex up until the phase is `phase`.
    fn until(&self, phase: u32) {
        let state = &self.state.0;
        self.mutex.unlock();
        let end = virtual_ns() + SPIN_NS;
        while state.phase.load(Ordering::Relaxed) != phase && virtual_ns() < end {
            work_ns(LOOK_NS);
        }
        while !self.mutex.try_lock() {}
        while state.phase.load(Ordering::Relaxed) != phase {
            let seen = self.broadcasts.0.load(Ordering::Relaxed);
            self.sleepers.set(self.sleepers.get() + 1);
            self.mutex.unlock();
            kernel_wait(&self.broadcasts.0, seen, None);
            self.mutex.lock();
            self.sleepers.set(self.sleepers.get() - 1);
        }
    }

    fn broadcast(&self) {
        if self.sleepers.get() > 0 {
            self.broadcasts.0.fetch_add(1, Ordering::Relaxed);
            kernel_wake(&self.broadcasts.0, usize::MAX);
        }
    }
}
