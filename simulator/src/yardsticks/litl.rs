//! Locks as LiTL interposes them (Guiroux, Lachaize and Quéma, USENIX ATC 2016; its sources, 2016):
//! the program's mutex is looked up in a hash table, its lock is taken, and then a pthread mutex,
//! since condition variables need one. The holder alone takes that mutex, but its line moves with
//! the lock.
//!
//! Two locks have other constants there than here: the backoff and MUTEXEE.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering, fence};
use machine::{kernel_wait, kernel_wake, virtual_ns, work_ns};

use super::futex_mutex::try_take;
use super::glibc::{GlibcAdaptiveMutex, GlibcMutex};
use super::{Lock, Padded, TryLock};

/// The look-up: an indirect call, a hash, and a bucket's line that all may read (estimated).
const LOOKUP_NS: u64 = 10;

/// A pthread mutex that only the holder of another lock takes.
#[derive(Default)]
struct Posix(AtomicU32);

impl Posix {
    fn take(&self) {
        // Nothing contends for it.
        let taken = try_take(&self.0);
        debug_assert!(taken.is_ok());
    }

    fn release(&self) {
        self.0.swap(0, Ordering::Release);
    }
}

/// The pthread mutex has a line of its own.
pub struct Interposed<L> {
    lock: Padded<L>,
    posix: Padded<Posix>,
}

impl<L: Lock> Lock for Interposed<L> {
    fn new(threads: usize) -> Self {
        Interposed { lock: Padded(L::new(threads)), posix: Padded::default() }
    }

    fn lock(&self) {
        work_ns(LOOKUP_NS);
        self.lock.0.lock();
        self.posix.0.take();
    }

    fn unlock(&self) {
        work_ns(LOOKUP_NS);
        self.posix.0.release();
        self.lock.0.unlock();
    }
}

impl<L: TryLock> TryLock for Interposed<L> {
    fn try_lock(&self) -> bool {
        work_ns(LOOKUP_NS);
        let taken = self.lock.0.try_lock();
        if taken {
            self.posix.0.take();
        }
        taken
    }
}

/// The same for glibc's mutexes, which lie beside the pthread mutex on one line.
pub struct OnOneLine<L>(Padded<(L, Posix)>);

/// Locks that [`OnOneLine`] takes.
trait OfGlibc: TryLock {}
impl OfGlibc for GlibcMutex {}
impl OfGlibc for GlibcAdaptiveMutex {}

#[allow(private_bounds)]
impl<L: OfGlibc> Lock for OnOneLine<L> {
    fn new(threads: usize) -> Self {
        OnOneLine(Padded((L::new(threads), Posix::default())))
    }

    fn lock(&self) {
        work_ns(LOOKUP_NS);
        self.0.0.0.lock();
        self.0.0.1.take();
    }

    fn unlock(&self) {
        work_ns(LOOKUP_NS);
        self.0.0.1.release();
        self.0.0.0.unlock();
    }
}

#[allow(private_bounds)]
impl<L: OfGlibc> TryLock for OnOneLine<L> {
    fn try_lock(&self) -> bool {
        work_ns(LOOKUP_NS);
        let taken = self.0.0.0.try_lock();
        if taken {
            self.0.0.1.take();
        }
        taken
    }
}

/// A pause with its loop: LiTL counts 2700 of them for the 9 us of a context switch.
const PAUSE_NS: f64 = 9_000.0 / 2_700.0;
const DELAY_MIN_NS: u64 = (512.0 * PAUSE_NS) as u64;
const DELAY_MAX_NS: u64 = (1_048_575.0 * PAUSE_NS) as u64;

/// Test-and-test-and-set with Concurrency Kit's backoff, from 512 pauses to a million: 3.5 ms.
#[derive(Default)]
pub struct LitlBackoff {
    taken: AtomicU32,
}

impl Lock for LitlBackoff {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn lock(&self) {
        let mut delay = DELAY_MIN_NS;
        loop {
            while self.taken.load(Ordering::Relaxed) != 0 {
                work_ns(delay);
                delay = (delay * 2).min(DELAY_MAX_NS);
            }
            if self.try_lock() {
                return;
            }
        }
    }

    fn unlock(&self) {
        self.taken.store(0, Ordering::Release);
    }
}

impl TryLock for LitlBackoff {
    fn try_lock(&self) -> bool {
        self.taken.swap(1, Ordering::Acquire) == 0
    }
}

const LOCKED: u32 = 1;
/// Locked, and threads may sleep.
const CONTENDED: u32 = 0x101;

/// Cycles at 2.1 GHz that a thread spins with exchanges before it sleeps, and once the lock has
/// given up spinning.
const SPIN_NS: u64 = 8_192 * 10 / 21;
const SPIN_AS_FUTEX_NS: u64 = 256 * 10 / 21;
/// 384 rounds of an empty loop (estimated: a cycle and a half each).
const LINGER_NS: u64 = 384 * 15 / 21;

/// Each so many contended releases it is seen whether more than a sixteenth of them had to wake a
/// thread. LiTL's number is 2048, in runs of a minute: a simulated one has milliseconds.
const JUDGED_EVERY: u32 = 32;
const MISSES_MAX: u32 = 2;
/// For how many such periods the lock doesn't spin then: 8, doubled each time up to 32.
const PERIODS: u32 = 8;
const PERIODS_MAX: u32 = 32;

/// MUTEXEE as Trigonakis wrote it for LiTL: it spins with exchanges, and learns from how often its
/// release must wake a thread whether to spin at all.
pub struct LitlMutexee {
    state: AtomicU32,
    /// On the same line, and written by the holder: contended releases, those that woke, the
    /// period without spinning (0: it spins), and how many there will be.
    releases: Cell<u32>,
    misses: Cell<u32>,
    period: Cell<u32>,
    periods: Cell<u32>,
}

impl Lock for LitlMutexee {
    fn new(_threads: usize) -> Self {
        LitlMutexee {
            state: AtomicU32::new(0),
            releases: Cell::new(0),
            misses: Cell::new(0),
            period: Cell::new(0),
            periods: Cell::new(PERIODS),
        }
    }

    fn lock(&self) {
        if self.try_lock() {
            return;
        }
        let spin = if self.period.get() == 0 { SPIN_NS } else { SPIN_AS_FUTEX_NS };
        let end = virtual_ns() + spin;
        loop {
            if self.try_lock() {
                return;
            }
            fence(Ordering::SeqCst);
            if virtual_ns() > end {
                break;
            }
        }
        while self.state.swap(CONTENDED, Ordering::SeqCst) & LOCKED != 0 {
            kernel_wait(&self.state, CONTENDED, None);
        }
    }

    fn unlock(&self) {
        let alone = self.state.load(Ordering::Relaxed) == LOCKED
            && self.state.compare_exchange(LOCKED, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if alone {
            return;
        }
        self.judge();
        // A store of a byte and a fence.
        self.state.fetch_and(!LOCKED, Ordering::SeqCst);
        if self.is_locked() {
            return;
        }
        work_ns(LINGER_NS);
        fence(Ordering::SeqCst);
        if self.is_locked() {
            return;
        }
        self.state.fetch_and(LOCKED, Ordering::SeqCst);
        self.misses.set(self.misses.get() + 1);
        kernel_wake(&self.state, 1);
    }
}

impl LitlMutexee {
    fn is_locked(&self) -> bool {
        self.state.load(Ordering::Relaxed) & LOCKED != 0
    }

    fn judge(&self) {
        let releases = self.releases.get() + 1;
        self.releases.set(releases % JUDGED_EVERY);
        if releases < JUDGED_EVERY {
            return;
        }
        let period = self.period.get();
        if period == 0 {
            self.period.set(u32::from(self.misses.get() > MISSES_MAX));
        } else if period == self.periods.get() {
            self.periods.set((period * 2).min(PERIODS_MAX));
            self.period.set(0);
        } else {
            self.period.set(period + 1);
        }
        self.misses.set(0);
    }
}

impl TryLock for LitlMutexee {
    fn try_lock(&self) -> bool {
        self.state.fetch_or(LOCKED, Ordering::Acquire) & LOCKED == 0
    }
}
