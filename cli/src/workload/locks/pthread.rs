//! Pthread's mutex and rwlock, whoever provides them.

use super::{Family, Mutex, Pthread, RwLock};
use crate::workload::pthread;

impl Family for Pthread {
    type Mutex<T: Send + Sync + 'static> = pthread::Mutex<T>;
    type RwLock<T: Send + Sync + 'static> = pthread::RwLock<T>;
}

impl<T: Send + 'static> Mutex<T> for pthread::Mutex<T> {
    fn new(data: T) -> Self {
        pthread::Mutex::new(data)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock())
    }
}

impl<T: Send + Sync + 'static> RwLock<T> for pthread::RwLock<T> {
    fn new(data: T) -> Self {
        pthread::RwLock::new(data)
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        pthread::RwLock::read(self, section)
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        pthread::RwLock::write(self, section)
    }
}
