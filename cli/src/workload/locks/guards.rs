//! The locks of crates whose guards need no unwrapping: furwock, linked in, parking_lot and usync.

use super::{
    Condvar, Family, Furwock, Monitor, Monitors, Mutex, Padded, ParkingLot, RwLock, Usync,
};

/// The family of one crate's locks.
macro_rules! family {
    ($family:ident, $mutex:ident, $rwlock:ident, $condvar:ident, $library:ident) => {
        impl Family for $family {
            type Mutex<T: Send + Sync + 'static> = $mutex<T>;
            type RwLock<T: Send + Sync + 'static> = $rwlock<T>;
        }

        impl Monitors for $family {
            type Monitor<T: Send + 'static> = $mutex<T>;
            type Condvar = $condvar;
        }

        pub struct $mutex<T>(Padded<::$library::Mutex<T>>);

        impl<T: Send + 'static> Mutex<T> for $mutex<T> {
            fn new(data: T) -> Self {
                $mutex(Padded(::$library::Mutex::new(data)))
            }

            #[inline]
            fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
                section(&mut self.0.0.lock())
            }
        }

        impl<T: Send + 'static> Monitor<T> for $mutex<T> {
            type Condvar = $condvar;
            type Guard<'a> = ::$library::MutexGuard<'a, T>;

            fn new(data: T) -> Self {
                $mutex(Padded(::$library::Mutex::new(data)))
            }

            #[inline]
            fn lock(&self) -> Self::Guard<'_> {
                self.0.0.lock()
            }

            #[inline]
            fn wait<'a>(mut guard: Self::Guard<'a>, condvar: &$condvar) -> Self::Guard<'a> {
                condvar.0.0.wait(&mut guard);
                guard
            }
        }

        pub struct $condvar(Padded<::$library::Condvar>);

        impl Condvar for $condvar {
            fn new() -> Self {
                $condvar(Padded(::$library::Condvar::new()))
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

        pub struct $rwlock<T>(Padded<::$library::RwLock<T>>);

        impl<T: Send + Sync + 'static> RwLock<T> for $rwlock<T> {
            fn new(data: T) -> Self {
                $rwlock(Padded(::$library::RwLock::new(data)))
            }

            #[inline]
            fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
                section(&self.0.0.read())
            }

            #[inline]
            fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
                section(&mut self.0.0.write())
            }
        }
    };
}

family!(Furwock, FurwockMutex, FurwockRwLock, FurwockCondvar, furwock);
family!(ParkingLot, ParkingLotMutex, ParkingLotRwLock, ParkingLotCondvar, parking_lot);
family!(Usync, UsyncMutex, UsyncRwLock, UsyncCondvar, usync);
