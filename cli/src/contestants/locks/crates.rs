//! The locks of Rust's standard library and of crates: furwock, parking_lot and usync.

use std::sync::PoisonError;

use parking_lot::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use super::{Condvar, Family, Monitor, Monitors, Mutex, Mutexes, Padded, RwLock};

/// The family of one library's locks. `$guard` makes a guard of what its lock functions return.
macro_rules! family {
    ($family:ident ($mutex:ident $rwlock:ident $condvar:ident), $($library:ident)::+,
     $guard:ident, |$on:ident, $held:pat_param| $wait:expr) => {
        pub struct $family;

        impl Mutexes for $family {
            type Mutex<T: Send + Sync + 'static> = $mutex<T>;
        }

        impl Family for $family {
            type RwLock<T: Send + Sync + 'static> = $rwlock<T>;
        }

        impl Monitors for $family {
            type Monitor<T: Send + 'static> = $mutex<T>;
            type Condvar = $condvar;
        }

        pub struct $mutex<T>(Padded<::$($library)::+::Mutex<T>>);

        impl<T: Send + 'static> Mutex<T> for $mutex<T> {
            fn new(data: T) -> Self {
                $mutex(Padded(::$($library)::+::Mutex::new(data)))
            }

            #[inline]
            fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
                section(&mut self.lock())
            }
        }

        impl<T: Send + 'static> Monitor<T> for $mutex<T> {
            type Condvar = $condvar;
            type Guard<'a> = ::$($library)::+::MutexGuard<'a, T>;

            #[inline]
            fn lock(&self) -> Self::Guard<'_> {
                $guard(self.0.0.lock())
            }

            #[inline]
            fn wait<'a>($held: Self::Guard<'a>, $on: &$condvar) -> Self::Guard<'a> {
                let $on = &$on.0.0;
                $wait
            }
        }

        pub struct $condvar(Padded<::$($library)::+::Condvar>);

        impl Condvar for $condvar {
            fn new() -> Self {
                $condvar(Padded(::$($library)::+::Condvar::new()))
            }

            #[inline]
            fn signal(&self) {
                self.0.0.notify_one();
            }

            #[inline]
            fn broadcast(&self) {
                self.0.0.notify_all();
            }
        }

        pub struct $rwlock<T>(Padded<::$($library)::+::RwLock<T>>);

        impl<T: Send + Sync + 'static> RwLock<T> for $rwlock<T> {
            fn new(data: T) -> Self {
                $rwlock(Padded(::$($library)::+::RwLock::new(data)))
            }

            #[inline]
            fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
                let guard = $guard(self.0.0.read());
                section(&guard)
            }

            #[inline]
            fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
                let mut guard = $guard(self.0.0.write());
                section(&mut guard)
            }
        }
    };
}

fn plain<G>(guard: G) -> G {
    guard
}

fn unpoisoned<G>(guard: Result<G, PoisonError<G>>) -> G {
    guard.unwrap_or_else(PoisonError::into_inner)
}

family!(Furwock (FurwockMutex FurwockRwLock FurwockCondvar), furwock, plain, |condvar, mut guard| {
    condvar.wait(&mut guard);
    guard
});
family!(ParkingLot (ParkingLotMutex ParkingLotRwLock ParkingLotCondvar), parking_lot, plain,
|condvar, mut guard| {
    condvar.wait(&mut guard);
    guard
});
family!(Usync (UsyncMutex UsyncRwLock UsyncCondvar), usync, plain, |condvar, mut guard| {
    condvar.wait(&mut guard);
    guard
});
family!(Std (StdMutex StdRwLock StdCondvar), std::sync, unpoisoned,
    |condvar, guard| unpoisoned(condvar.wait(guard)));

/// Parking_lot's, where each unlock hands the lock to a waiter if one is parked.
pub struct ParkingLotFair;

impl Mutexes for ParkingLotFair {
    type Mutex<T: Send + Sync + 'static> = FairMutex<T>;
}

impl Family for ParkingLotFair {
    type RwLock<T: Send + Sync + 'static> = FairRwLock<T>;
}

pub struct FairMutex<T>(Padded<parking_lot::Mutex<T>>);

impl<T: Send + 'static> Mutex<T> for FairMutex<T> {
    fn new(data: T) -> Self {
        FairMutex(Padded(parking_lot::Mutex::new(data)))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let mut guard = self.0.0.lock();
        let result = section(&mut guard);
        MutexGuard::unlock_fair(guard);
        result
    }
}

pub struct FairRwLock<T>(Padded<parking_lot::RwLock<T>>);

impl<T: Send + Sync + 'static> RwLock<T> for FairRwLock<T> {
    fn new(data: T) -> Self {
        FairRwLock(Padded(parking_lot::RwLock::new(data)))
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        let guard = self.0.0.read();
        let result = section(&guard);
        RwLockReadGuard::unlock_fair(guard);
        result
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let mut guard = self.0.0.write();
        let result = section(&mut guard);
        RwLockWriteGuard::unlock_fair(guard);
        result
    }
}
