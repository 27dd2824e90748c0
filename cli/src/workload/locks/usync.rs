//! The crate usync.

use super::{Family, Mutex, Padded, RwLock, Usync};

impl Family for Usync {
    type Mutex<T: Send + Sync + 'static> = UsyncMutex<T>;
    type RwLock<T: Send + Sync + 'static> = UsyncRwLock<T>;
}

pub struct UsyncMutex<T>(Padded<::usync::Mutex<T>>);

impl<T: Send + 'static> Mutex<T> for UsyncMutex<T> {
    fn new(data: T) -> Self {
        UsyncMutex(Padded(::usync::Mutex::new(data)))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.0.0.lock())
    }
}

pub struct UsyncRwLock<T>(Padded<::usync::RwLock<T>>);

impl<T: Send + Sync + 'static> RwLock<T> for UsyncRwLock<T> {
    fn new(data: T) -> Self {
        UsyncRwLock(Padded(::usync::RwLock::new(data)))
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
