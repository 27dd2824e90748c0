//! The locks that can be measured, each behind the same two small traits, so that a workload's loop
//! is the same for all and compiled for each: no call through a table between loop and lock.
//!
//! All lie in memory alike: a lock and the data that it protects side by side, alone on their cache
//! lines.

mod broken;
mod guards;
mod nsync;
mod pthread;
mod std;

use super::parameters::BadParameter;

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
/// Locks that let everybody in: what a workload's check must find.
pub struct Broken;

/// A family by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    Pthread,
    Furwock,
    Std,
    ParkingLot,
    Usync,
    Nsync,
    Broken,
}

/// Calls a function that is generic over the family, with an implementation's.
macro_rules! for_family {
    ($implementation:expr, $function:ident($($argument:expr),*)) => {
        match $implementation {
            Implementation::Pthread => $function::<$crate::workload::locks::Pthread>($($argument),*),
            Implementation::Furwock => $function::<$crate::workload::locks::Furwock>($($argument),*),
            Implementation::Std => $function::<$crate::workload::locks::Std>($($argument),*),
            Implementation::ParkingLot => {
                $function::<$crate::workload::locks::ParkingLot>($($argument),*)
            }
            Implementation::Usync => $function::<$crate::workload::locks::Usync>($($argument),*),
            Implementation::Nsync => $function::<$crate::workload::locks::Nsync>($($argument),*),
            Implementation::Broken => $function::<$crate::workload::locks::Broken>($($argument),*),
        }
    };
}
pub(super) use for_family;

impl Implementation {
    /// All but the broken one, which is for tests.
    pub const ALL: [Implementation; 6] = [
        Implementation::Pthread,
        Implementation::Furwock,
        Implementation::Std,
        Implementation::ParkingLot,
        Implementation::Usync,
        Implementation::Nsync,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Implementation::Pthread => "pthread",
            Implementation::Furwock => "furwock",
            Implementation::Std => "std",
            Implementation::ParkingLot => "parking_lot",
            Implementation::Usync => "usync",
            Implementation::Nsync => "nsync",
            Implementation::Broken => "broken",
        }
    }

    pub fn named(name: &str) -> Result<Self, BadParameter> {
        let known = Self::ALL.into_iter().chain([Implementation::Broken]);
        known.into_iter().find(|known| known.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Implementation::name).join(", ");
            BadParameter(format!("impl={name}: no such implementation; there are {names}"))
        })
    }

    /// Why it can't be measured on this machine, if so.
    pub fn absent(self) -> Option<String> {
        match self {
            Implementation::Nsync => nsync::absent(),
            _ => None,
        }
    }
}

/// Alone on its cache lines: a neighbour would blur what is measured.
#[repr(align(128))]
struct Padded<T>(T);

#[cfg(test)]
mod tests {
    use super::*;
    use ::std::sync::Arc;

    /// Two threads that add, and a reader, all through the family's locks.
    fn excludes<F: Family>() -> bool {
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
        locks.0.with(|count| *count) == 2 * EACH && locks.1.read(|count| *count) == 2 * EACH
    }

    #[test]
    fn all_families_exclude() {
        for implementation in Implementation::ALL {
            if let Some(reason) = implementation.absent() {
                eprintln!("SKIPPED: {}: {reason}", implementation.name());
                continue;
            }
            assert!(for_family!(implementation, excludes()), "{implementation:?}");
        }
    }

    #[test]
    fn names_lead_back() {
        for implementation in Implementation::ALL {
            assert_eq!(Implementation::named(implementation.name()).unwrap(), implementation);
        }
        let error = Implementation::named("no-such").unwrap_err().0;
        assert!(error.contains("no-such") && error.contains("parking_lot, usync"), "{error}");
    }
}
