//! Rust's std::sync.

use std::sync::{self, PoisonError};

use super::{Condvar, Family, Monitor, Monitors, Mutex, Padded, RwLock, Std};

impl Family for Std {
    type Mutex<T: Send + Sync + 'static> = StdMutex<T>;
    type RwLock<T: Send + Sync + 'static> = StdRwLock<T>;
}

impl Monitors for Std {
    type Monitor<T: Send + 'static> = StdMutex<T>;
    type Condvar = StdCondvar;
}

pub struct StdMutex<T>(Padded<sync::Mutex<T>>);

impl<T> StdMutex<T> {
    fn unlocked(data: T) -> Self {
        StdMutex(Padded(sync::Mutex::new(data)))
    }

    #[inline]
    fn guard(&self) -> sync::MutexGuard<'_, T> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Mutex<T> for StdMutex<T> {
    fn new(data: T) -> Self {
        StdMutex::unlocked(data)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.guard())
    }
}

impl<T: Send + 'static> Monitor<T> for StdMutex<T> {
    type Condvar = StdCondvar;
    type Guard<'a> = sync::MutexGuard<'a, T>;

    fn new(data: T) -> Self {
        StdMutex::unlocked(data)
    }

    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        self.guard()
    }

    #[inline]
    fn wait<'a>(guard: Self::Guard<'a>, condvar: &StdCondvar) -> Self::Guard<'a> {
        condvar.0.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct StdCondvar(Padded<sync::Condvar>);

impl Condvar for StdCondvar {
    fn new() -> Self {
        StdCondvar(Padded(sync::Condvar::new()))
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
