//! Queue locks: MCS and the Malthusian lock, as published and without the libraries that have them.
//! The simulator compiles the same files for its machines: what they need beside each other is in
//! `platform`.

mod malthusian;
mod mcs;
mod nodes;
mod platform;
mod waiting;

use std::cell::UnsafeCell;
use std::marker::PhantomData;

use super::{Mutex, Mutexes, Padded};

/// A lock of any kind, for `threads` threads.
pub trait Lock: 'static {
    fn new(threads: usize) -> Self;
    fn lock(&self);
    fn unlock(&self);
}

/// A lock that can be tried: the simulator does.
#[cfg_attr(not(test), expect(dead_code, reason = "the benchmarks don't try"))]
pub trait TryLock: Lock {
    /// Takes the lock if it is free.
    fn try_lock(&self) -> bool;
}

/// The mutexes of a queue lock.
pub struct Queued<L>(PhantomData<L>);

/// MCS, whose threads spin and then sleep.
pub type Mcs = Queued<mcs::Mcs<waiting::SpinThenPark>>;
/// The Malthusian lock, whose threads spin and then sleep.
pub type Malthusian = Queued<malthusian::Malthusian<waiting::SpinThenPark>>;

impl<L: Lock + Send + Sync> Mutexes for Queued<L> {
    type Mutex<T: Send + Sync + 'static> = QueuedMutex<L, T>;
}

pub struct QueuedMutex<L, T>(Padded<(L, UnsafeCell<T>)>);

// SAFETY: the lock excludes.
unsafe impl<L: Sync, T: Send> Sync for QueuedMutex<L, T> {}

impl<L: Lock + Send + Sync, T: Send + 'static> Mutex<T> for QueuedMutex<L, T> {
    fn new(data: T) -> Self {
        const FEW: usize = 64;
        Self::for_threads(data, FEW)
    }

    fn for_threads(data: T, threads: usize) -> Self {
        QueuedMutex(Padded((L::new(threads), UnsafeCell::new(data))))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    /// More threads than processors, sections of different lengths: waiters spin, sleep and, in the
    /// Malthusian lock, stand aside.
    fn excludes<F: Mutexes>() {
        const THREADS: usize = 9;
        const EACH: u64 = 3000;
        // Other tests' threads have numbers too.
        let counter = Arc::new(F::Mutex::<u64>::for_threads(0, 500));
        let count = |each: u64| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                for turn in 0..EACH {
                    counter.with(|counter| {
                        let seen = *counter;
                        if (turn + each).is_multiple_of(256) {
                            thread::sleep(std::time::Duration::from_micros(20));
                        }
                        *counter = std::hint::black_box(seen) + 1;
                    });
                    if turn.is_multiple_of(64) {
                        thread::yield_now();
                    }
                }
            })
        };
        let threads: Vec<_> = (0..THREADS as u64).map(count).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counter.with(|counter| *counter), THREADS as u64 * EACH);
    }

    fn is_taken_only_while_free<L: TryLock>() {
        let lock = L::new(500);
        assert!(lock.try_lock());
        assert!(!lock.try_lock());
        lock.unlock();
        assert!(lock.try_lock());
        lock.unlock();
    }

    #[test]
    fn a_try_takes_only_a_free_lock() {
        is_taken_only_while_free::<mcs::Mcs<waiting::SpinThenPark>>();
        is_taken_only_while_free::<malthusian::Malthusian<waiting::SpinThenPark>>();
    }

    #[test]
    fn mcs_excludes() {
        excludes::<Mcs>();
    }

    #[test]
    fn the_malthusian_lock_excludes_and_strands_no_waiter() {
        excludes::<Malthusian>();
    }
}
