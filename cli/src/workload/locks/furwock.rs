//! The crate furwock, linked in.

use super::{Family, Furwock, Mutex, Padded, RwLock};

use stand_in::RwLock as CrateRwLock; // the crate's RwLock: `use ::furwock::RwLock as CrateRwLock;`

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

pub struct FurwockRwLock<T>(Padded<CrateRwLock<T>>);

impl<T: Send + Sync + 'static> RwLock<T> for FurwockRwLock<T> {
    fn new(data: T) -> Self {
        FurwockRwLock(Padded(CrateRwLock::new(data)))
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

/// A mutex in the place of the crate's `RwLock`, for as long as there is none.
mod stand_in {
    pub struct RwLock<T>(::furwock::Mutex<T>);

    impl<T> RwLock<T> {
        pub fn new(data: T) -> Self {
            RwLock(::furwock::Mutex::new(data))
        }

        #[inline]
        pub fn read(&self) -> ::furwock::MutexGuard<'_, T> {
            self.0.lock()
        }

        #[inline]
        pub fn write(&self) -> ::furwock::MutexGuard<'_, T> {
            self.0.lock()
        }
    }
}
