//! The locks of crates whose guards need no unwrapping: furwock, linked in, parking_lot and usync.

use super::{Family, Furwock, Mutex, Padded, ParkingLot, RwLock, Usync};

/// The family of one crate's locks.
macro_rules! family {
    ($family:ident, $mutex:ident, $rwlock:ident, $library:ident) => {
        impl Family for $family {
            type Mutex<T: Send + Sync + 'static> = $mutex<T>;
            type RwLock<T: Send + Sync + 'static> = $rwlock<T>;
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

family!(Furwock, FurwockMutex, FurwockRwLock, furwock);
family!(ParkingLot, ParkingLotMutex, ParkingLotRwLock, parking_lot);
family!(Usync, UsyncMutex, UsyncRwLock, usync);
