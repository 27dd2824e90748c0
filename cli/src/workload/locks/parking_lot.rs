//! The crate parking_lot.

use super::{Family, Mutex, Padded, ParkingLot, RwLock};

impl Family for ParkingLot {
    type Mutex<T: Send + Sync + 'static> = ParkingLotMutex<T>;
    type RwLock<T: Send + Sync + 'static> = ParkingLotRwLock<T>;
}

pub struct ParkingLotMutex<T>(Padded<::parking_lot::Mutex<T>>);

impl<T: Send + 'static> Mutex<T> for ParkingLotMutex<T> {
    fn new(data: T) -> Self {
        ParkingLotMutex(Padded(::parking_lot::Mutex::new(data)))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.0.0.lock())
    }
}

pub struct ParkingLotRwLock<T>(Padded<::parking_lot::RwLock<T>>);

impl<T: Send + Sync + 'static> RwLock<T> for ParkingLotRwLock<T> {
    fn new(data: T) -> Self {
        ParkingLotRwLock(Padded(::parking_lot::RwLock::new(data)))
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
