//! Textbook locks on the kernel's futex.
//!
//! The mutex is Drepper's ("Futexes Are Tricky", the second one): 0 free, 1 held, 2 held and
//! perhaps awaited. The rwlock has the design that Drepper's proposal of 64-bit futexes (2008) was
//! to replace, and that glibc had until 2.24: an internal lock that protects a state of several
//! words.

use std::cell::UnsafeCell;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use super::{Family, Mutex, Mutexes, Padded, RwLock};
use crate::contestants::words::kernel;

/// The kernel's futexes, and nothing else.
pub struct Kernel;

impl Mutexes for Kernel {
    type Mutex<T: Send + Sync + 'static> = WaitWakeMutex<T>;
}

impl Family for Kernel {
    type RwLock<T: Send + Sync + 'static> = WaitWakeRwLock<T>;
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;

/// The mutex without data.
struct Lock(AtomicU32);

impl Lock {
    const fn new() -> Self {
        Lock(AtomicU32::new(FREE))
    }

    #[inline]
    fn lock(&self) {
        if self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        while self.0.swap(AWAITED, Acquire) != FREE {
            kernel::wait(&self.0, AWAITED);
        }
    }

    #[inline]
    fn unlock(&self) {
        if self.0.swap(FREE, Release) == AWAITED {
            kernel::wake(&self.0, 1);
        }
    }
}

pub struct WaitWakeMutex<T>(Padded<(Lock, UnsafeCell<T>)>);

// SAFETY: the lock excludes.
unsafe impl<T: Send> Sync for WaitWakeMutex<T> {}

impl<T: Send + 'static> Mutex<T> for WaitWakeMutex<T> {
    fn new(data: T) -> Self {
        WaitWakeMutex(Padded((Lock::new(), UnsafeCell::new(data))))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let (lock, data) = &self.0.0;
        lock.lock();
        // SAFETY: this thread holds the lock until the call below.
        let result = section(unsafe { &mut *data.get() });
        lock.unlock();
        result
    }
}

/// Prefers readers, as glibc's does by default.
pub struct WaitWakeRwLock<T>(Padded<(Shared, UnsafeCell<T>)>);

// SAFETY: the lock excludes; readers share the data.
unsafe impl<T: Send + Sync> Sync for WaitWakeRwLock<T> {}

struct Shared {
    internal: Lock,
    /// Read and written under the internal lock only.
    holders: UnsafeCell<Holders>,
    /// Readers sleep on the first, writers on the second; each is raised before a wake.
    readers_woken: AtomicU32,
    writers_woken: AtomicU32,
}

struct Holders {
    readers: u32,
    writer: bool,
    readers_waiting: u32,
    writers_waiting: u32,
}

impl Shared {
    fn new() -> Self {
        let holders = Holders { readers: 0, writer: false, readers_waiting: 0, writers_waiting: 0 };
        Shared {
            internal: Lock::new(),
            holders: UnsafeCell::new(holders),
            readers_woken: AtomicU32::new(0),
            writers_woken: AtomicU32::new(0),
        }
    }

    /// Runs `change` under the internal lock.
    #[inline]
    fn with_holders<R>(&self, change: impl FnOnce(&mut Holders) -> R) -> R {
        self.internal.lock();
        // SAFETY: the internal lock is held until the call below.
        let result = change(unsafe { &mut *self.holders.get() });
        self.internal.unlock();
        result
    }

    /// Returns once `enter` succeeds; until then sleeps on `woken`, counted by `waiting`.
    #[inline]
    fn enter(
        &self,
        woken: &AtomicU32,
        waiting: fn(&mut Holders) -> &mut u32,
        enter: fn(&mut Holders) -> bool,
    ) {
        let mut has_waited = false;
        loop {
            let seen = self.with_holders(|holders| {
                if has_waited {
                    *waiting(holders) -= 1;
                }
                if enter(holders) {
                    return None;
                }
                *waiting(holders) += 1;
                Some(woken.load(Relaxed))
            });
            let Some(seen) = seen else { return };
            kernel::wait(woken, seen);
            has_waited = true;
        }
    }

    fn read_lock(&self) {
        self.enter(
            &self.readers_woken,
            |holders| &mut holders.readers_waiting,
            |holders| {
                holders.readers += u32::from(!holders.writer);
                !holders.writer
            },
        );
    }

    fn write_lock(&self) {
        self.enter(
            &self.writers_woken,
            |holders| &mut holders.writers_waiting,
            |holders| {
                let free = !holders.writer && holders.readers == 0;
                holders.writer |= free;
                free
            },
        );
    }

    fn unlock(&self) {
        let wake = self.with_holders(|holders| {
            if holders.writer {
                holders.writer = false;
            } else {
                holders.readers -= 1;
            }
            let (word, count) = match holders {
                Holders { readers: 1.., .. } => return None,
                Holders { writers_waiting: 1.., .. } => (&self.writers_woken, 1),
                Holders { readers_waiting: 1.., .. } => (&self.readers_woken, usize::MAX),
                _ => return None,
            };
            word.fetch_add(1, Relaxed);
            Some((word, count))
        });
        if let Some((word, count)) = wake {
            kernel::wake(word, count);
        }
    }
}

impl<T: Send + Sync + 'static> RwLock<T> for WaitWakeRwLock<T> {
    fn new(data: T) -> Self {
        WaitWakeRwLock(Padded((Shared::new(), UnsafeCell::new(data))))
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        let (shared, data) = &self.0.0;
        shared.read_lock();
        // SAFETY: this thread is a reader until the call below.
        let result = section(unsafe { &*data.get() });
        shared.unlock();
        result
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let (shared, data) = &self.0.0;
        shared.write_lock();
        // SAFETY: this thread is the writer, and alone, until the call below.
        let result = section(unsafe { &mut *data.get() });
        shared.unlock();
        result
    }
}
