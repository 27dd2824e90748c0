//! The crate furwock, linked in.

use super::{Family, Furwock, Mutex, Padded, RwLock};

impl Family for Furwock {
    type Mutex<T: Send + Sync + 'static> = FurwockMutex<T>;
    type RwLock<T: Send + Sync + 'static> = FurwockRwLock<T>;
}

pub struct FurwockMutex<T>(Padded<::furwock::Mutex<T>>);

impl<T: Send + 'static> Mutex<T> for FurwockMutex<T> {
    fn new(data: T) -> Self {
        FurwockMutex(Padded(::furwock::Mutex::new(data)))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.0.0.lock())
    }
}

pub struct FurwockRwLock<T>(Padded<::furwock::RwLock<T>>);

impl<T: Send + Sync + 'static> RwLock<T> for FurwockRwLock<T> {
    fn new(data: T) -> Self {
        FurwockRwLock(Padded(::furwock::RwLock::new(data)))
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
