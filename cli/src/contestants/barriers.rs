//! The barriers that can be measured.

use std::cell::UnsafeCell;

use super::locks::{Condvar, Monitor, Monitors, Mutex};
use crate::harness::{Padded, fail_now};

pub trait Barrier: Send + Sync + 'static {
    fn new(threads: u32) -> Self;
    fn wait(&self);
}

/// The crate's.
pub struct FurwockBarrier(Padded<furwock::Barrier>);

impl Barrier for FurwockBarrier {
    fn new(threads: u32) -> Self {
        FurwockBarrier(Padded(furwock::Barrier::new(threads as usize)))
    }

    #[inline]
    fn wait(&self) {
        self.0.0.wait();
    }
}

/// Rust's standard library's.
pub struct StdBarrier(Padded<std::sync::Barrier>);

impl Barrier for StdBarrier {
    fn new(threads: u32) -> Self {
        StdBarrier(Padded(std::sync::Barrier::new(threads as usize)))
    }

    #[inline]
    fn wait(&self) {
        self.0.0.wait();
    }
}

/// The pthread library's. Boxed, because its address must never change.
pub struct PthreadBarrier(Box<Padded<UnsafeCell<libc::pthread_barrier_t>>>);

// SAFETY: a barrier is made to be used from many threads.
unsafe impl Send for PthreadBarrier {}
// SAFETY: as above.
unsafe impl Sync for PthreadBarrier {}

impl Barrier for PthreadBarrier {
    fn new(threads: u32) -> Self {
        // SAFETY: all-zero is no less than what pthread_barrier_init overwrites.
        let raw: libc::pthread_barrier_t = unsafe { std::mem::zeroed() };
        let made = PthreadBarrier(Box::new(Padded(UnsafeCell::new(raw))));
        // SAFETY: the barrier is in its place, and no other thread has it yet.
        let code = unsafe { libc::pthread_barrier_init(made.0.0.get(), std::ptr::null(), threads) };
        if code != 0 {
            fail_now(format!("pthread_barrier_init: error {code}"));
        }
        made
    }

    #[inline]
    fn wait(&self) {
        // SAFETY: initialised, and stays where it is.
        let code = unsafe { libc::pthread_barrier_wait(self.0.0.get()) };
        if code != 0 && code != libc::PTHREAD_BARRIER_SERIAL_THREAD {
            fail_now(format!("pthread_barrier_wait: error {code}"));
        }
    }
}

/// For implementations without a barrier: a count under a mutex, and a condition variable.
pub struct MonitorBarrier<F: Monitors> {
    threads: u32,
    state: F::Monitor<State>,
    passed: F::Condvar,
}

pub struct State {
    missing: u32,
    round: u64,
}

impl<F: Monitors> Barrier for MonitorBarrier<F> {
    fn new(threads: u32) -> Self {
        let state = F::Monitor::new(State { missing: threads, round: 0 });
        MonitorBarrier { threads, state, passed: F::Condvar::new() }
    }

    fn wait(&self) {
        let mut state = self.state.lock();
        let round = state.round;
        state.missing -= 1;
        if state.missing == 0 {
            state.missing = self.threads;
            state.round += 1;
            self.passed.broadcast();
            return;
        }
        while state.round == round {
            state = F::Monitor::wait(state, &self.passed);
        }
    }
}

/// The table of a function that is generic over barriers.
macro_rules! barriers {
    ($function:ident) => {{
        use $crate::contestants::{barriers, locks, table};
        table!($function:
            Furwock => barriers::FurwockBarrier,
            FurwockPreload | Glibc => barriers::PthreadBarrier,
            Std => barriers::StdBarrier,
            ParkingLot => barriers::MonitorBarrier<locks::ParkingLot>,
            // usync's own barrier opens once, and stays open.
            Usync => barriers::MonitorBarrier<locks::Usync>,
            Nsync => barriers::MonitorBarrier<locks::Nsync>,
            Absl => barriers::MonitorBarrier<locks::Absl>,
        )
    }};
}
pub(crate) use barriers;
