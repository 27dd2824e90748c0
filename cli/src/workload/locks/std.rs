//! Rust's std::sync.

use std::sync::{self, PoisonError};

use super::{Family, Mutex, Padded, RwLock, Std};

impl Family for Std {
    type Mutex<T: Send + Sync + 'static> = StdMutex<T>;
    type RwLock<T: Send + Sync + 'static> = StdRwLock<T>;
}

pub struct StdMutex<T>(Padded<sync::Mutex<T>>);

impl<T: Send + 'static> Mutex<T> for StdMutex<T> {
    fn new(data: T) -> Self {
        StdMutex(Padded(sync::Mutex::new(data)))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub struct StdRwLock<T>(Padded<sync::RwLock<T>>);

impl<T: Send + Sync + 'static> RwLock<T> for StdRwLock<T> {
    fn new(data: T) -> Self {
        StdRwLock(Padded(sync::RwLock::new(data)))
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        section(&self.0.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.0.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}
