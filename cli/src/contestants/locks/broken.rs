//! Locks that exclude nothing.

use std::cell::UnsafeCell;

use super::{Family, Mutex, Mutexes, Padded, RwLock};

/// Locks that exclude nothing: what a workload's check must find.
pub struct Broken;

impl Mutexes for Broken {
    type Mutex<T: Send + Sync + 'static> = Open<T>;
}

impl Family for Broken {
    type RwLock<T: Send + Sync + 'static> = Open<T>;
}

pub struct Open<T>(Padded<UnsafeCell<T>>);

// SAFETY: violated on purpose: threads race for the data. Only tests of the workloads' checks use
// this type, with plain counters.
unsafe impl<T: Send> Sync for Open<T> {}

impl<T: Send + 'static> Mutex<T> for Open<T> {
    fn new(data: T) -> Self {
        Open(Padded(UnsafeCell::new(data)))
    }

    #[inline(never)]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: not kept, see above.
        section(unsafe { &mut *self.0.0.get() })
    }
}

impl<T: Send + Sync + 'static> RwLock<T> for Open<T> {
    fn new(data: T) -> Self {
        Open(Padded(UnsafeCell::new(data)))
    }

    #[inline(never)]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        // SAFETY: not kept, see above.
        section(unsafe { &*self.0.0.get() })
    }

    #[inline(never)]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: not kept, see above.
        section(unsafe { &mut *self.0.0.get() })
    }
}
