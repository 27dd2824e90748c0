//! Locks of libraries that are loaded at run time: they need not be installed.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::transmute;
use std::ops::{Deref, DerefMut};

use super::{Condvar, Family, Monitor, Monitors, Mutex, Padded, RwLock};

pub type Function = unsafe extern "C" fn(*mut c_void);
pub type Wait = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A library's functions for a lock that is mutex and rwlock in one, and for a condition variable.
/// An all-zero object is an unlocked lock, or a condition variable without waiters.
#[derive(Clone, Copy)]
pub struct Functions {
    pub lock: Function,
    pub unlock: Function,
    pub read_lock: Function,
    pub read_unlock: Function,
    pub wait: Wait,
    pub signal: Function,
    pub broadcast: Function,
}

/// # Safety
/// The address is that of a C function that takes an object's address, and nothing else.
pub unsafe fn function(address: *mut c_void) -> Function {
    // SAFETY: the caller's promise.
    unsafe { transmute::<*mut c_void, Function>(address) }
}

/// # Safety
/// The address is that of a C function that takes a condition variable's address and a lock's.
pub unsafe fn wait(address: *mut c_void) -> Wait {
    // SAFETY: the caller's promise.
    unsafe { transmute::<*mut c_void, Wait>(address) }
}

pub trait Library: Send + Sync + 'static {
    /// The functions, or why they aren't here.
    fn functions() -> Result<Functions, String>;

    /// Why the library can't be measured here, if so.
    fn absent() -> Option<String> {
        Self::functions().err()
    }
}

impl<L: Library> Family for L {
    type Mutex<T: Send + Sync + 'static> = ForeignLock<L, T>;
    type RwLock<T: Send + Sync + 'static> = ForeignLock<L, T>;
}

impl<L: Library> Monitors for L {
    type Monitor<T: Send + 'static> = ForeignLock<L, T>;
    type Condvar = ForeignCondvar<L>;
}

/// Locks are made only of libraries that are here.
const CHECKED: &str = "the library was found before";

/// Room for any of the libraries' objects.
type Object = [usize; 4];

/// A lock with the data that it protects. Boxed, because its address must never change. The
/// functions' addresses are beside the box, not in it: all threads read them, and none writes them.
pub struct ForeignLock<L, T> {
    locked: Box<Padded<Locked<T>>>,
    functions: Functions,
    library: PhantomData<L>,
}

struct Locked<T> {
    lock: UnsafeCell<Object>,
    data: UnsafeCell<T>,
}

// SAFETY: the lock may be used by any thread, and the data goes along.
unsafe impl<L, T: Send> Send for ForeignLock<L, T> {}
// SAFETY: the lock excludes. (Readers share the data only where it is `Sync`.)
unsafe impl<L, T: Send> Sync for ForeignLock<L, T> {}

impl<L: Library, T> ForeignLock<L, T> {
    fn unlocked(data: T) -> Self {
        let locked = Locked { lock: UnsafeCell::default(), data: UnsafeCell::new(data) };
        let functions = L::functions().expect(CHECKED);
        ForeignLock { locked: Box::new(Padded(locked)), functions, library: PhantomData }
    }
}

impl<L, T> ForeignLock<L, T> {
    #[inline]
    fn address(&self) -> *mut c_void {
        self.locked.0.lock.get().cast()
    }

    #[inline]
    fn guard(&self) -> ForeignGuard<'_, L, T> {
        // SAFETY: the lock stays where it is while `self` lives.
        unsafe { (self.functions.lock)(self.address()) };
        ForeignGuard(self)
    }
}

pub struct ForeignGuard<'a, L, T>(&'a ForeignLock<L, T>);

impl<L, T> Deref for ForeignGuard<'_, L, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock for as long as the guard lives.
        unsafe { &*self.0.locked.0.data.get() }
    }
}

impl<L, T> DerefMut for ForeignGuard<'_, L, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.0.locked.0.data.get() }
    }
}

impl<L, T> Drop for ForeignGuard<'_, L, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread locked it when it made the guard.
        unsafe { (self.0.functions.unlock)(self.0.address()) };
    }
}

impl<L: Library, T: Send + 'static> Mutex<T> for ForeignLock<L, T> {
    fn new(data: T) -> Self {
        ForeignLock::unlocked(data)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.guard())
    }
}

impl<L: Library, T: Send + Sync + 'static> RwLock<T> for ForeignLock<L, T> {
    fn new(data: T) -> Self {
        ForeignLock::unlocked(data)
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the lock stays where it is while `self` lives.
        unsafe { (self.functions.read_lock)(self.address()) };
        // SAFETY: this thread holds the lock for reading until the call below.
        let result = section(unsafe { &*self.locked.0.data.get() });
        // SAFETY: this thread locked it for reading above.
        unsafe { (self.functions.read_unlock)(self.address()) };
        result
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.guard())
    }
}

impl<L: Library, T: Send + 'static> Monitor<T> for ForeignLock<L, T> {
    type Condvar = ForeignCondvar<L>;
    type Guard<'a> = ForeignGuard<'a, L, T>;

    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        self.guard()
    }

    #[inline]
    fn wait<'a>(guard: Self::Guard<'a>, condvar: &ForeignCondvar<L>) -> Self::Guard<'a> {
        // SAFETY: both objects stay where they are, and the guard proves that this thread holds the
        // lock, as it does again when the call returns.
        unsafe { (guard.0.functions.wait)(condvar.address(), guard.0.address()) };
        guard
    }
}

/// Boxed, as the lock is.
pub struct ForeignCondvar<L> {
    condvar: Box<Padded<UnsafeCell<Object>>>,
    functions: Functions,
    library: PhantomData<L>,
}

// SAFETY: a condition variable is made to be used from many threads.
unsafe impl<L> Send for ForeignCondvar<L> {}
// SAFETY: as above.
unsafe impl<L> Sync for ForeignCondvar<L> {}

impl<L> ForeignCondvar<L> {
    #[inline]
    fn address(&self) -> *mut c_void {
        self.condvar.0.get().cast()
    }
}

impl<L: Library> Condvar for ForeignCondvar<L> {
    fn new() -> Self {
        ForeignCondvar {
            condvar: Box::new(Padded(UnsafeCell::default())),
            functions: L::functions().expect(CHECKED),
            library: PhantomData,
        }
    }

    #[inline]
    fn signal(&self) {
        // SAFETY: the condition variable stays where it is.
        unsafe { (self.functions.signal)(self.address()) };
    }

    #[inline]
    fn broadcast(&self) {
        // SAFETY: as above.
        unsafe { (self.functions.broadcast)(self.address()) };
    }
}
