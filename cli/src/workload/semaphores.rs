//! The semaphores that can be measured.

use std::cell::UnsafeCell;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::locks::{Condvar, Monitor, Monitors};
use super::padded::Padded;
use super::report::fail_now;
use super::words::kernel;

pub trait Semaphore: Send + Sync + 'static {
    fn new(permits: u32) -> Self;
    fn acquire(&self);
    fn release(&self);
}

/// The crate's.
pub struct FurwockSemaphore(Padded<furwock::Semaphore>);

impl Semaphore for FurwockSemaphore {
    fn new(permits: u32) -> Self {
        match furwock::Semaphore::new(permits) {
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

/// `sem_t`, whoever provides it. Boxed, because its address must never change.
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
        // SAFETY: the semaphore is in its place, and nobody knows of it yet.
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

/// The textbook's on the kernel's futex: the permits in one word, and whether anybody may be waiting in
/// another.
pub struct KernelSemaphore {
    permits: Padded<AtomicU32>,
    waiting: Padded<AtomicU32>,
}

impl Semaphore for KernelSemaphore {
    fn new(permits: u32) -> Self {
        let padded = |value| Padded(AtomicU32::new(value));
        KernelSemaphore { permits: padded(permits), waiting: padded(0) }
    }

    #[inline]
    fn acquire(&self) {
        loop {
            let take = |permits: u32| permits.checked_sub(1);
            if self.permits.0.fetch_update(Acquire, Relaxed, take).is_ok() {
                return;
            }
            self.waiting.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            kernel::wait(&self.permits.0, 0);
            self.waiting.0.fetch_sub(1, Release);
        }
    }

    #[inline]
    fn release(&self) {
        self.permits.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if self.waiting.0.load(std::sync::atomic::Ordering::SeqCst) > 0 {
            kernel::wake(&self.permits.0, 1);
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
        if let Err(error) = rustix::io::write(&self.0, &1u64.to_ne_bytes()) {
            fail_now(format!("write to an eventfd: {error}"));
        }
    }
}

/// What people build who have none: a count under a mutex, and a condition variable.
pub struct MonitorSemaphore<F: Monitors> {
    permits: F::Monitor<u32>,
    released: F::Condvar,
}

impl<F: Monitors> Semaphore for MonitorSemaphore<F> {
    fn new(permits: u32) -> Self {
        MonitorSemaphore { permits: F::Monitor::new(permits), released: F::Condvar::new() }
    }

    fn acquire(&self) {
        let mut permits = self.permits.lock();
        while *permits == 0 {
            permits = F::Monitor::wait(permits, &self.released);
        }
        *permits -= 1;
    }

    fn release(&self) {
        *self.permits.lock() += 1;
        self.released.signal();
    }
}

/// Calls a function that is generic over semaphores, with an implementation's.
macro_rules! for_semaphores {
    ($implementation:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::workload::{implementation::Implementation, locks, semaphores};
        match $implementation {
            Implementation::Furwock => $function::<semaphores::FurwockSemaphore>($($argument),*),
            Implementation::Pthread => $function::<semaphores::PosixSemaphore>($($argument),*),
            Implementation::Kernel => $function::<semaphores::KernelSemaphore>($($argument),*),
            Implementation::Eventfd => $function::<semaphores::FdSemaphore>($($argument),*),
            Implementation::Std => {
                $function::<semaphores::MonitorSemaphore<locks::Std>>($($argument),*)
            }
            Implementation::ParkingLot => {
                $function::<semaphores::MonitorSemaphore<locks::ParkingLot>>($($argument),*)
            }
            Implementation::Usync => {
                $function::<semaphores::MonitorSemaphore<locks::Usync>>($($argument),*)
            }
            Implementation::Nsync => {
                $function::<semaphores::MonitorSemaphore<locks::Nsync>>($($argument),*)
            }
            Implementation::Absl => {
                $function::<semaphores::MonitorSemaphore<locks::Absl>>($($argument),*)
            }
            other => Err(other.lacks("semaphores")),
        }
    }};
}
pub(super) use for_semaphores;
