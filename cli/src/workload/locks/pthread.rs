//! Pthread's mutex, condition variable and rwlock, whoever provides them.

use super::{Condvar, Family, Monitor, Monitors, Mutex, Pthread, RwLock};
use crate::workload::pthread;

impl Family for Pthread {
    type Mutex<T: Send + Sync + 'static> = pthread::Mutex<T>;
    type RwLock<T: Send + Sync + 'static> = pthread::RwLock<T>;
}

impl Monitors for Pthread {
    type Monitor<T: Send + 'static> = pthread::Mutex<T>;
    type Condvar = pthread::Condvar;
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

impl<T: Send + 'static> Monitor<T> for pthread::Mutex<T> {
    type Condvar = pthread::Condvar;
    type Guard<'a> = pthread::Guard<'a, T>;

    fn new(data: T) -> Self {
        pthread::Mutex::new(data)
    }

    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        pthread::Mutex::lock(self)
    }

    #[inline]
    fn wait<'a>(mut guard: Self::Guard<'a>, condvar: &pthread::Condvar) -> Self::Guard<'a> {
        condvar.wait(&mut guard);
        guard
    }
}

impl Condvar for pthread::Condvar {
    fn new() -> Self {
        pthread::Condvar::new()
    }

    #[inline]
    fn signal(&self) {
        pthread::Condvar::signal(self);
    }

    #[inline]
    fn broadcast(&self) {
        pthread::Condvar::broadcast(self);
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
