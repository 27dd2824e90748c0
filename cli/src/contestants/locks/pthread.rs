//! Pthread's mutex, condition variable and rwlock, called by their plain names so that a preload
//! can replace them.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::{Condvar, Family, Monitor, Monitors, Mutex, Padded, RwLock};
use crate::harness::threads::expect;

/// The pthread library of this process: glibc's or the preload's.
pub struct Pthread;

impl Family for Pthread {
    type Mutex<T: Send + Sync + 'static> = PthreadMutex<T>;
    type RwLock<T: Send + Sync + 'static> = PthreadRwLock<T>;
}

impl Monitors for Pthread {
    type Monitor<T: Send + 'static> = PthreadMutex<T>;
    type Condvar = PthreadCondvar;
}

/// A lock with the data it protects beside it, as programs have them, and nothing else on the
/// cache lines.
#[repr(align(128))]
struct Locked<Raw, T> {
    raw: UnsafeCell<Raw>,
    data: UnsafeCell<T>,
}

/// A mutex with the data it protects. Boxed, because its address must never change.
pub struct PthreadMutex<T>(Box<Locked<libc::pthread_mutex_t, T>>);

// SAFETY: the data is reached only through a guard, that is by one thread at a time.
unsafe impl<T: Send> Send for PthreadMutex<T> {}
// SAFETY: as above; a pthread mutex is made to be used from many threads.
unsafe impl<T: Send> Sync for PthreadMutex<T> {}

pub struct Guard<'a, T> {
    mutex: &'a PthreadMutex<T>,
    /// The thread that locked must be the one that unlocks.
    not_send: PhantomData<*const ()>,
}

impl<T: Send + 'static> Mutex<T> for PthreadMutex<T> {
    fn new(data: T) -> Self {
        let raw = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        PthreadMutex(Box::new(Locked { raw, data: UnsafeCell::new(data) }))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock())
    }
}

impl<T: Send + 'static> Monitor<T> for PthreadMutex<T> {
    type Condvar = PthreadCondvar;
    type Guard<'a> = Guard<'a, T>;

    #[inline]
    fn lock(&self) -> Guard<'_, T> {
        // SAFETY: `raw` is initialised, and stays where it is for as long as `self` lives.
        expect("pthread_mutex_lock", unsafe { libc::pthread_mutex_lock(self.0.raw.get()) });
        Guard { mutex: self, not_send: PhantomData }
    }

    #[inline]
    fn wait<'a>(guard: Self::Guard<'a>, condvar: &PthreadCondvar) -> Self::Guard<'a>
    where
        Self: 'a,
    {
        let mutex = guard.mutex.0.raw.get();
        // SAFETY: both objects are initialised and stay in place; the guard proves that this
        // thread holds the mutex, and it holds it again when the call returns.
        expect("pthread_cond_wait", unsafe { libc::pthread_cond_wait(condvar.0.0.get(), mutex) });
        guard
    }
}

impl<T> Drop for PthreadMutex<T> {
    fn drop(&mut self) {
        // SAFETY: guards borrow the mutex, so none is left and no thread holds it.
        expect("pthread_mutex_destroy", unsafe { libc::pthread_mutex_destroy(self.0.raw.get()) });
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the mutex for as long as the guard lives.
        unsafe { &*self.mutex.0.data.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.mutex.0.data.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread locked the mutex when it made the guard.
        let code = unsafe { libc::pthread_mutex_unlock(self.mutex.0.raw.get()) };
        expect("pthread_mutex_unlock", code);
    }
}

/// A reader-writer lock with the data it protects, boxed as the mutex is.
pub struct PthreadRwLock<T>(Box<Locked<libc::pthread_rwlock_t, T>>);

// SAFETY: a pthread rwlock may be used by any thread, and the data goes along.
unsafe impl<T: Send> Send for PthreadRwLock<T> {}
// SAFETY: readers share the data, a writer has it alone.
unsafe impl<T: Send + Sync> Sync for PthreadRwLock<T> {}

impl<T: Send + Sync + 'static> RwLock<T> for PthreadRwLock<T> {
    fn new(data: T) -> Self {
        let raw = UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER);
        PthreadRwLock(Box::new(Locked { raw, data: UnsafeCell::new(data) }))
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        // SAFETY: `raw` is initialised, and stays where it is for as long as `self` lives.
        let code = unsafe { libc::pthread_rwlock_rdlock(self.0.raw.get()) };
        expect("pthread_rwlock_rdlock", code);
        // SAFETY: this thread is a reader until `unlock`, and readers only look.
        let result = section(unsafe { &*self.0.data.get() });
        self.unlock();
        result
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: as in `read`.
        let code = unsafe { libc::pthread_rwlock_wrlock(self.0.raw.get()) };
        expect("pthread_rwlock_wrlock", code);
        // SAFETY: this thread is the writer, and alone, until `unlock`.
        let result = section(unsafe { &mut *self.0.data.get() });
        self.unlock();
        result
    }
}

impl<T> PthreadRwLock<T> {
    #[inline]
    fn unlock(&self) {
        // SAFETY: both callers hold the lock.
        let code = unsafe { libc::pthread_rwlock_unlock(self.0.raw.get()) };
        expect("pthread_rwlock_unlock", code);
    }
}

impl<T> Drop for PthreadRwLock<T> {
    fn drop(&mut self) {
        // SAFETY: no other thread has the lock any more, and all sections are over.
        let code = unsafe { libc::pthread_rwlock_destroy(self.0.raw.get()) };
        expect("pthread_rwlock_destroy", code);
    }
}

/// A condition variable; all its waiters must come with the same mutex.
pub struct PthreadCondvar(Box<Padded<UnsafeCell<libc::pthread_cond_t>>>);

// SAFETY: a pthread condition variable is made to be used from many threads.
unsafe impl Send for PthreadCondvar {}
// SAFETY: as above.
unsafe impl Sync for PthreadCondvar {}

impl Condvar for PthreadCondvar {
    fn new() -> Self {
        PthreadCondvar(Box::new(Padded(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER))))
    }

    #[inline]
    fn signal(&self) {
        // SAFETY: the condition variable is initialised and stays in place.
        expect("pthread_cond_signal", unsafe { libc::pthread_cond_signal(self.0.0.get()) });
    }

    #[inline]
    fn broadcast(&self) {
        // SAFETY: the condition variable is initialised and stays in place.
        expect("pthread_cond_broadcast", unsafe { libc::pthread_cond_broadcast(self.0.0.get()) });
    }
}

impl Drop for PthreadCondvar {
    fn drop(&mut self) {
        // SAFETY: no thread waits: a waiter would borrow what is dropped here.
        expect("pthread_cond_destroy", unsafe { libc::pthread_cond_destroy(self.0.0.get()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::spawn;
    use std::sync::Arc;

    #[test]
    fn a_small_thread_returns_what_it_counted() {
        let shared = Arc::new((PthreadMutex::new(0u32), PthreadCondvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = spawn(1, move || {
            let mut count = theirs.0.lock();
            *count += 1;
            theirs.1.signal();
            *count
        });
        let mut count = shared.0.lock();
        while *count == 0 {
            count = PthreadMutex::wait(count, &shared.1);
        }
        drop(count);
        assert_eq!(thread.join(), 1);
    }
}
