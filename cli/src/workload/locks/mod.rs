//! The locks that can be measured, each behind the same two small traits, so that a workload's loop
//! is the same for all and compiled for each: no call through a table between loop and lock.
//!
//! All lie in memory alike: a lock and the data that it protects side by side, alone on their cache
//! lines.

pub mod absl;
mod broken;
mod foreign;
mod guards;
mod loading;
mod monitor;
pub mod nsync;
mod pthread;
mod std;
mod wait_wake;

use super::padded::Padded;

pub use absl::Absl;
pub use monitor::{Condvar, Monitor, Monitors};
pub use nsync::Nsync;

/// A lock that one thread at a time can hold.
pub trait Mutex<T>: Send + Sync + 'static {
    fn new(data: T) -> Self;

    /// Locks, runs `section`, unlocks.
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R;
}

/// A lock that many readers at a time can hold, or one writer.
pub trait RwLock<T>: Send + Sync + 'static {
    fn new(data: T) -> Self;

    /// Locks for reading, runs `section`, unlocks.
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R;

    /// Locks for writing, runs `section`, unlocks.
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R;
}

/// Where a kind of locks comes from.
pub trait Family: 'static {
    type Mutex<T: Send + Sync + 'static>: Mutex<T>;
    type RwLock<T: Send + Sync + 'static>: RwLock<T>;
}

/// Whatever pthread library lies beneath this process.
pub struct Pthread;
/// The crate, linked in.
pub struct Furwock;
/// Rust's std::sync.
pub struct Std;
/// The crate parking_lot.
pub struct ParkingLot;
/// The crate usync.
pub struct Usync;
/// The kernel's futexes, and nothing else.
pub struct Kernel;
/// Locks that let everybody in: what a workload's check must find.
pub struct Broken;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::implementation::{Implementation, for_family, for_monitors};
    use ::std::collections::VecDeque;
    use ::std::sync::Arc;

    fn all_here() -> impl Iterator<Item = Implementation> {
        Implementation::ALL.into_iter().filter(|implementation| {
            let absent = implementation.absent();
            if let Some(reason) = &absent {
                eprintln!("SKIPPED: {}: {reason}", implementation.name());
            }
            absent.is_none()
        })
    }

    /// Two threads that add, and a reader, all through the family's locks.
    fn excludes<F: Family>() -> Result<bool, String> {
        const EACH: u64 = 20_000;
        let locks = Arc::new((F::Mutex::<u64>::new(0), F::RwLock::<u64>::new(0)));
        let theirs = Arc::clone(&locks);
        let add = |locks: &(F::Mutex<u64>, F::RwLock<u64>)| {
            for _ in 0..EACH {
                locks.0.with(|count| *count += 1);
                locks.1.write(|count| *count += 1);
                locks.1.read(|count| assert!(*count <= 2 * EACH));
            }
        };
        let thread = ::std::thread::spawn(move || add(&theirs));
        add(&locks);
        thread.join().unwrap();
        let counts = (locks.0.with(|count| *count), locks.1.read(|count| *count));
        Ok(counts == (2 * EACH, 2 * EACH))
    }

    #[test]
    fn all_families_exclude() {
        let excluding: Vec<_> =
            all_here().filter_map(|each| for_family!(each, excludes()).ok()).collect();
        assert!(excluding.len() >= 6 && excluding.iter().all(|excludes| *excludes));
    }

    /// One thread hands the other numbers by a queue with room for one.
    fn hands_over<F: Monitors>() -> Result<u64, String> {
        const ITEMS: u64 = 2000;
        let shared = Arc::new((F::Monitor::new(VecDeque::new()), F::Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = ::std::thread::spawn(move || {
            let (queue, changed) = &*theirs;
            for item in 0..ITEMS {
                let mut items = queue.lock();
                while !items.is_empty() {
                    items = <F::Monitor<VecDeque<u64>> as Monitor<_>>::wait(items, changed);
                }
                items.push_back(item);
                changed.broadcast();
            }
        });
        let (queue, changed) = &*shared;
        let mut sum = 0;
        for _ in 0..ITEMS {
            let mut items = queue.lock();
            while items.is_empty() {
                items = <F::Monitor<VecDeque<u64>> as Monitor<_>>::wait(items, changed);
            }
            sum += items.pop_front().unwrap();
            changed.signal();
        }
        thread.join().unwrap();
        Ok(sum * 2 / ITEMS + 1)
    }

    #[test]
    fn all_monitors_hand_over() {
        let sums: Vec<_> =
            all_here().filter_map(|each| for_monitors!(each, hands_over()).ok()).collect();
        assert!(sums.len() >= 5 && sums.iter().all(|sum| *sum == 2000), "{sums:?}");
    }
}
