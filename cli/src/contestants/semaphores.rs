//! The semaphores that can be measured.

use std::cell::UnsafeCell;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::locks::{Condvar, Monitor, Monitors, Mutex};
use super::words::kernel;
use crate::harness::{Padded, fail_now};

pub trait Semaphore: Send + Sync + 'static {
    fn new(permits: u32) -> Self;
    fn acquire(&self);
    fn release(&self);
}

/// The crate's.
pub struct FurwockSemaphore(Padded<furwock::Semaphore>);

impl Semaphore for FurwockSemaphore {
    fn new(permits: u32) -> Self {
        match furwock::Semaphore::try_new(permits) {
            Ok(semaphore) => FurwockSemaphore(Padded(semaphore)),
            Err(error) => fail_now(error.to_string()),
        }
    }

    #[inline]
    fn acquire(&self) {
        self.0.0.acquire();
    }

    #[inline]
    fn release(&self) {
        if let Err(error) = self.0.0.release() {
            fail_now(error.to_string());
        }
    }
}

/// `sem_t`, glibc's or the preload's. Boxed, because its address must never change.
pub struct PosixSemaphore(Box<Padded<UnsafeCell<libc::sem_t>>>);

// SAFETY: a semaphore is made to be used from many threads.
unsafe impl Send for PosixSemaphore {}
// SAFETY: as above.
unsafe impl Sync for PosixSemaphore {}

impl Semaphore for PosixSemaphore {
    fn new(permits: u32) -> Self {
        // SAFETY: all-zero is no less than what sem_init overwrites.
        let raw: libc::sem_t = unsafe { std::mem::zeroed() };
        let made = PosixSemaphore(Box::new(Padded(UnsafeCell::new(raw))));
        // SAFETY: the semaphore is in its place, and no other thread has it yet.
        if unsafe { libc::sem_init(made.0.0.get(), 0, permits) } != 0 {
            fail_now(format!("sem_init: {}", std::io::Error::last_os_error()));
        }
        made
    }

    #[inline]
    fn acquire(&self) {
        // SAFETY: initialised, and stays where it is. An interrupted wait is begun again.
        while unsafe { libc::sem_wait(self.0.0.get()) } != 0 {}
    }

    #[inline]
    fn release(&self) {
        // SAFETY: initialised, and stays where it is.
        if unsafe { libc::sem_post(self.0.0.get()) } != 0 {
            fail_now(format!("sem_post: {}", std::io::Error::last_os_error()));
        }
    }
}

/// A textbook semaphore on the kernel's futex: as in `sem_t`, one word counts the permits, another
/// the waiters.
pub struct KernelSemaphore(Padded<Permits>);

struct Permits {
    permits: AtomicU32,
    waiting: AtomicU32,
}

impl Semaphore for KernelSemaphore {
    fn new(permits: u32) -> Self {
        let (permits, waiting) = (AtomicU32::new(permits), AtomicU32::new(0));
        KernelSemaphore(Padded(Permits { permits, waiting }))
    }

    #[inline]
    fn acquire(&self) {
        let Permits { permits, waiting } = &self.0.0;
        loop {
            let take = |permits: u32| permits.checked_sub(1);
            if permits.fetch_update(Acquire, Relaxed, take).is_ok() {
                return;
            }
            waiting.fetch_add(1, SeqCst);
            kernel::wait(permits, 0);
            waiting.fetch_sub(1, Release);
        }
    }

    #[inline]
    fn release(&self) {
        let Permits { permits, waiting } = &self.0.0;
        permits.fetch_add(1, SeqCst);
        if waiting.load(SeqCst) > 0 {
            kernel::wake(permits, 1);
        }
    }
}

/// An eventfd that counts as a semaphore does.
pub struct FdSemaphore(OwnedFd);

impl Semaphore for FdSemaphore {
    fn new(permits: u32) -> Self {
        let flags = EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC;
        match eventfd(permits, flags) {
            Ok(fd) => FdSemaphore(fd),
            Err(error) => fail_now(format!("eventfd: {error}")),
        }
    }

    #[inline]
    fn acquire(&self) {
        let mut count = [0; 8];
        while rustix::io::read(&self.0, &mut count).is_err() {}
    }

    #[inline]
    fn release(&self) {
        self.add(1);
    }
}

impl FdSemaphore {
    #[inline]
    pub fn add(&self, permits: u64) {
        if let Err(error) = rustix::io::write(&self.0, &permits.to_ne_bytes()) {
            fail_now(format!("write to an eventfd: {error}"));
        }
    }
}

/// For implementations without a semaphore: a count under a mutex, and a condition variable that is
/// signalled only if a thread waits. (Some, as Rust's, make a system call of every signal.)
pub struct MonitorSemaphore<F: Monitors> {
    state: F::Monitor<State>,
    released: F::Condvar,
}

pub struct State {
    permits: u32,
    waiting: u32,
}

impl<F: Monitors> Semaphore for MonitorSemaphore<F> {
    fn new(permits: u32) -> Self {
        let state = F::Monitor::new(State { permits, waiting: 0 });
        MonitorSemaphore { state, released: F::Condvar::new() }
    }

    fn acquire(&self) {
        let mut state = self.state.lock();
        while state.permits == 0 {
            state.waiting += 1;
            state = F::Monitor::wait(state, &self.released);
            state.waiting -= 1;
        }
        state.permits -= 1;
    }

    fn release(&self) {
        let mut state = self.state.lock();
        state.permits += 1;
        let awaited = state.waiting > 0;
        drop(state);
        if awaited {
            self.released.signal();
        }
    }
}

/// The table of a function that is generic over semaphores.
macro_rules! semaphores {
    ($function:ident) => {{
        use $crate::contestants::{locks, semaphores, table};
        table!($function:
            Furwock => semaphores::FurwockSemaphore,
            FurwockPreload | Glibc => semaphores::PosixSemaphore,
            Kernel => semaphores::KernelSemaphore,
            Std => semaphores::MonitorSemaphore<locks::Std>,
            ParkingLot => semaphores::MonitorSemaphore<locks::ParkingLot>,
            Usync => semaphores::MonitorSemaphore<locks::Usync>,
            Nsync => semaphores::MonitorSemaphore<locks::Nsync>,
            Absl => semaphores::MonitorSemaphore<locks::Absl>,
            Eventfd => semaphores::FdSemaphore,
        )
    }};
}
pub(crate) use semaphores;
