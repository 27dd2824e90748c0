//! The locks that can be measured, each behind the same small traits.
//!
//! All have the same layout: a lock beside the data that it protects, alone on their cache lines.

mod absl;
mod broken;
mod c;
mod crates;
mod foreign;
mod loading;
mod nsync;
mod pthread;
mod queued;
mod wait_wake;

use std::ops::DerefMut;

use crate::harness::Padded;

pub use broken::Broken;
pub use c::CMutex;
pub use crates::{Furwock, ParkingLot, ParkingLotFair, Std, Usync};
pub use pthread::{Pthread, PthreadPi};
pub use queued::{Malthusian, Mcs};
pub use wait_wake::Kernel;

pub type Nsync = foreign::Foreign<nsync::Library>;
pub type Absl = foreign::Foreign<absl::Library>;

/// A lock that one thread at a time can hold.
pub trait Mutex<T>: Send + Sync + 'static {
    /// A lock with a place for each of its threads has few places.
    fn new(data: T) -> Self;

    /// The same with places for so many threads.
    fn for_threads(data: T, _threads: usize) -> Self
    where
        Self: Sized,
    {
        Self::new(data)
    }

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

/// The mutexes of one library.
pub trait Mutexes: 'static {
    type Mutex<T: Send + Sync + 'static>: Mutex<T>;
}

/// The mutexes and rwlocks of one library.
pub trait Family: Mutexes {
    type RwLock<T: Send + Sync + 'static>: RwLock<T>;
}

/// A family whose mutexes have condition variables.
pub trait Monitors: Family {
    type Monitor<T: Send + 'static>: Monitor<T, Condvar = Self::Condvar>;
    type Condvar: Condvar;
}

/// A mutex on which threads can wait for a change.
pub trait Monitor<T>: Mutex<T> {
    type Condvar;
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a;

    fn lock(&self) -> Self::Guard<'_>;

    /// Unlocks, sleeps until woken, locks again. May return spuriously.
    fn wait<'a>(guard: Self::Guard<'a>, condvar: &Self::Condvar) -> Self::Guard<'a>
    where
        Self: 'a;
}

pub trait Condvar: Send + Sync + 'static {
    fn new() -> Self;

    fn signal(&self);

    fn broadcast(&self);
}

/// The table of a function that is generic over families with condition variables.
macro_rules! monitors {
    ($function:ident $(, $contestant:ident => $type:ty)*) => {{
        use $crate::contestants::{locks, table};
        table!($function:
            Furwock => locks::Furwock,
            FurwockPreload | FurwockRecording | Glibc => locks::Pthread,
            Std => locks::Std,
            ParkingLot => locks::ParkingLot,
            Usync => locks::Usync,
            Nsync => locks::Nsync,
            Absl => locks::Absl,
            $($contestant => $type,)*
        )
    }};
}
pub(crate) use monitors;

/// The table of a function that is generic over families of locks.
macro_rules! families {
    ($function:ident) => {{
        use $crate::contestants::locks;
        locks::families!($function,)
    }};
    ($function:ident, $($contestant:ident => $type:ty),*) => {{
        use $crate::contestants::locks;
        locks::monitors!($function,
            ParkingLotFair => locks::ParkingLotFair,
            Kernel => locks::Kernel,
            Broken => locks::Broken
            $(, $contestant => $type)*
        )
    }};
}
pub(crate) use families;

/// The table of a function that is generic over mutexes.
macro_rules! mutexes {
    ($function:ident) => {{
        use $crate::contestants::locks;
        locks::families!($function, McsPark => locks::Mcs, MalthusianPark => locks::Malthusian)
    }};
}
pub(crate) use mutexes;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::{Contestant, Table};
    use std::collections::VecDeque;
    use std::sync::Arc;

    /// Runs the function of each contestant that is here and excludes.
    fn each<R>(table: &Table<fn() -> R>) -> Vec<R> {
        let here = |contestant: Contestant| {
            let absent = contestant.absent();
            absent.iter().for_each(|reason| eprintln!("SKIPPED: {contestant}: {reason}"));
            absent.is_none() && contestant != Contestant::Broken
        };
        let here = table.iter().filter(|(contestant, _)| here(*contestant));
        here.map(|(_, function)| function()).collect()
    }

    /// One thread hands the other numbers by a queue with room for one.
    fn hands_over<F: Monitors>() -> u64 {
        const ITEMS: u64 = 2000;
        let shared = Arc::new((F::Monitor::new(VecDeque::new()), F::Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
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
        sum * 2 / ITEMS + 1
    }

    #[test]
    fn all_monitors_hand_over() {
        let sums = each::<u64>(&monitors!(hands_over));
        assert!(sums.len() >= 5 && sums.iter().all(|sum| *sum == 2000), "{sums:?}");
    }
}
