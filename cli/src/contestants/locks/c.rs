//! Locks of C libraries, each beside the data that it protects.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::{Condvar, Family, Monitor, Monitors, Mutex, Mutexes, Padded, RwLock};

/// A library's objects, and its calls. A value is what the calls need besides the objects: the
/// addresses of functions that are loaded at run time.
///
/// # Safety
/// `lock` and `write_lock` exclude all other threads until the unlock, `read_lock` all writers.
///
/// All calls are unsafe: their objects began as the constants say, have not moved since the first
/// call, and are unlocked only by the thread that locked them, which holds the mutex in `wait`.
pub unsafe trait Calls: Copy + Send + Sync + 'static {
    type Mutex: 'static;
    type RwLock: 'static;
    type Condvar: 'static;

    const MUTEX: Self::Mutex;
    const RWLOCK: Self::RwLock;
    const CONDVAR: Self::Condvar;

    /// Only for a library that was found on this machine.
    fn here() -> Self;

    unsafe fn lock(self, mutex: *mut Self::Mutex);
    unsafe fn unlock(self, mutex: *mut Self::Mutex);
    unsafe fn read_lock(self, rwlock: *mut Self::RwLock);
    unsafe fn read_unlock(self, rwlock: *mut Self::RwLock);
    unsafe fn write_lock(self, rwlock: *mut Self::RwLock);
    unsafe fn write_unlock(self, rwlock: *mut Self::RwLock);
    unsafe fn wait(self, condvar: *mut Self::Condvar, mutex: *mut Self::Mutex);
    unsafe fn signal(self, condvar: *mut Self::Condvar);
    unsafe fn broadcast(self, condvar: *mut Self::Condvar);

    /// Called once, when a mutex is in its place.
    unsafe fn init_mutex(self, _mutex: *mut Self::Mutex) {}
    unsafe fn destroy_mutex(self, _mutex: *mut Self::Mutex) {}
    unsafe fn destroy_rwlock(self, _rwlock: *mut Self::RwLock) {}
    unsafe fn destroy_condvar(self, _condvar: *mut Self::Condvar) {}
}

impl<C: Calls> Mutexes for C {
    type Mutex<T: Send + Sync + 'static> = CMutex<C, T>;
}

impl<C: Calls> Family for C {
    type RwLock<T: Send + Sync + 'static> = CRwLock<C, T>;
}

impl<C: Calls> Monitors for C {
    type Monitor<T: Send + 'static> = CMutex<C, T>;
    type Condvar = CCondvar<C>;
}

/// An object with the data that it protects. Boxed, because its address must never change. The
/// calls are beside the box, not in it: all threads read them, and none writes them.
struct Locked<C, O, T> {
    calls: C,
    place: Box<Padded<(UnsafeCell<O>, UnsafeCell<T>)>>,
}

impl<C: Calls, O, T> Locked<C, O, T> {
    fn new(object: O, data: T) -> Self {
        let place = Padded((UnsafeCell::new(object), UnsafeCell::new(data)));
        Locked { calls: C::here(), place: Box::new(place) }
    }

    #[inline]
    fn object(&self) -> *mut O {
        self.place.0.0.get()
    }

    #[inline]
    fn data(&self) -> *mut T {
        self.place.0.1.get()
    }
}

pub struct CMutex<C: Calls, T>(Locked<C, C::Mutex, T>);

// SAFETY: the mutex may be used by any thread, and the data goes along.
unsafe impl<C: Calls, T: Send> Send for CMutex<C, T> {}
// SAFETY: the mutex excludes: one thread at a time has the data.
unsafe impl<C: Calls, T: Send> Sync for CMutex<C, T> {}

pub struct Guard<'a, C: Calls, T> {
    locked: &'a Locked<C, C::Mutex, T>,
    /// The thread that locked must be the one that unlocks.
    not_send: PhantomData<*const ()>,
}

impl<C: Calls, T: Send + 'static> Mutex<T> for CMutex<C, T> {
    fn new(data: T) -> Self {
        let made: Self = CMutex(Locked::new(C::MUTEX, data));
        // SAFETY: the mutex is in its place, and no other thread has it yet.
        unsafe { made.0.calls.init_mutex(made.0.object()) };
        made
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock())
    }
}

impl<C: Calls, T: Send + 'static> Monitor<T> for CMutex<C, T> {
    type Condvar = CCondvar<C>;
    type Guard<'a> = Guard<'a, C, T>;

    #[inline]
    fn lock(&self) -> Guard<'_, C, T> {
        // SAFETY: the mutex stays where it is while `self` lives.
        unsafe { self.0.calls.lock(self.0.object()) };
        Guard { locked: &self.0, not_send: PhantomData }
    }

    #[inline]
    fn wait<'a>(guard: Self::Guard<'a>, condvar: &CCondvar<C>) -> Self::Guard<'a>
    where
        Self: 'a,
    {
        let locked = guard.locked;
        // SAFETY: both objects stay where they are. The guard proves that this thread holds the
        // mutex, as it does again when the call returns.
        unsafe { locked.calls.wait(condvar.0.object(), locked.object()) };
        guard
    }
}

impl<C: Calls, T> Drop for CMutex<C, T> {
    fn drop(&mut self) {
        // SAFETY: guards borrow the mutex, so none is left and no thread holds it.
        unsafe { self.0.calls.destroy_mutex(self.0.object()) };
    }
}

impl<C: Calls, T> Deref for Guard<'_, C, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the mutex for as long as the guard lives.
        unsafe { &*self.locked.data() }
    }
}

impl<C: Calls, T> DerefMut for Guard<'_, C, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.locked.data() }
    }
}

impl<C: Calls, T> Drop for Guard<'_, C, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread locked the mutex when it made the guard.
        unsafe { self.locked.calls.unlock(self.locked.object()) };
    }
}

pub struct CRwLock<C: Calls, T>(Locked<C, C::RwLock, T>);

// SAFETY: the rwlock may be used by any thread, and the data goes along.
unsafe impl<C: Calls, T: Send> Send for CRwLock<C, T> {}
// SAFETY: readers share the data, a writer has it alone.
unsafe impl<C: Calls, T: Send + Sync> Sync for CRwLock<C, T> {}

impl<C: Calls, T: Send + Sync + 'static> RwLock<T> for CRwLock<C, T> {
    fn new(data: T) -> Self {
        CRwLock(Locked::new(C::RWLOCK, data))
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        let (calls, object) = (self.0.calls, self.0.object());
        // SAFETY: the rwlock stays where it is while `self` lives. Between the calls this thread is
        // a reader, and readers only look.
        unsafe {
            calls.read_lock(object);
            let result = section(&*self.0.data());
            calls.read_unlock(object);
            result
        }
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let (calls, object) = (self.0.calls, self.0.object());
        // SAFETY: as in `read`. Between the calls this thread is the writer, and alone.
        unsafe {
            calls.write_lock(object);
            let result = section(&mut *self.0.data());
            calls.write_unlock(object);
            result
        }
    }
}

impl<C: Calls, T> Drop for CRwLock<C, T> {
    fn drop(&mut self) {
        // SAFETY: no other thread has the rwlock any more, and all sections are over.
        unsafe { self.0.calls.destroy_rwlock(self.0.object()) };
    }
}

/// All its waiters must come with the same mutex.
pub struct CCondvar<C: Calls>(Locked<C, C::Condvar, ()>);

// SAFETY: a condition variable is made to be used from many threads.
unsafe impl<C: Calls> Send for CCondvar<C> {}
// SAFETY: as above.
unsafe impl<C: Calls> Sync for CCondvar<C> {}

impl<C: Calls> Condvar for CCondvar<C> {
    fn new() -> Self {
        CCondvar(Locked::new(C::CONDVAR, ()))
    }

    #[inline]
    fn signal(&self) {
        // SAFETY: the condition variable stays where it is while `self` lives.
        unsafe { self.0.calls.signal(self.0.object()) };
    }

    #[inline]
    fn broadcast(&self) {
        // SAFETY: as above.
        unsafe { self.0.calls.broadcast(self.0.object()) };
    }
}

impl<C: Calls> Drop for CCondvar<C> {
    fn drop(&mut self) {
        // SAFETY: no thread waits: a waiter would borrow what is dropped here.
        unsafe { self.0.calls.destroy_condvar(self.0.object()) };
    }
}
