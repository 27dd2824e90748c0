//! Locks of libraries that are loaded when they are asked for: they need not be here.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::mem::transmute;
use std::ops::{Deref, DerefMut};

use super::{Condvar, Monitor, Mutex, Padded, RwLock};

pub type Function = unsafe extern "C" fn(*mut c_void);
pub type Wait = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A library's functions for a lock that is mutex and rwlock in one, and for a condition variable, each on
/// an object that is unlocked, or waited for by nobody, while it is all zero.
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
    /// The functions, or why they aren't here. Whoever makes locks has asked.
    fn functions() -> Result<Functions, String>;
}

/// Room for any of the libraries' objects.
type Object = [usize; 4];

/// A lock with the data that it protects. Boxed, because its address must never change. The
/// functions' addresses are beside the box, not in it: they are read by all, and written by nobody.
pub struct ForeignLock<T> {
    locked: Box<Padded<Locked<T>>>,
    functions: Functions,
}

struct Locked<T> {
    lock: UnsafeCell<Object>,
    data: UnsafeCell<T>,
}

// SAFETY: the lock may be used by any thread, and the data goes along.
unsafe impl<T: Send> Send for ForeignLock<T> {}
// SAFETY: the lock excludes. (Readers share the data: they are let in only where it is `Sync`.)
unsafe impl<T: Send> Sync for ForeignLock<T> {}

impl<T> ForeignLock<T> {
    pub fn of<L: Library>(data: T) -> Self {
        let functions = L::functions().expect("whoever measures asks first whether it is here");
        let lock = UnsafeCell::new(Object::default());
        let data = UnsafeCell::new(data);
        ForeignLock { locked: Box::new(Padded(Locked { lock, data })), functions }
    }

    #[inline]
    fn lock_address(&self) -> *mut c_void {
        self.locked.0.lock.get().cast()
    }

    #[inline]
    pub fn guard(&self) -> ForeignGuard<'_, T> {
        // SAFETY: the lock stays where it is while `self` lives.
        unsafe { (self.functions.lock)(self.lock_address()) };
        ForeignGuard(self)
    }

    #[inline]
    fn reading<R>(&self, section: impl FnOnce(&T) -> R) -> R
    where
        T: Sync,
    {
        // SAFETY: the lock stays where it is while `self` lives.
        unsafe { (self.functions.read_lock)(self.lock_address()) };
        // SAFETY: this thread holds the lock for reading until the call below.
        let result = section(unsafe { &*self.locked.0.data.get() });
        // SAFETY: this thread locked it for reading above.
        unsafe { (self.functions.read_unlock)(self.lock_address()) };
        result
    }
}

pub struct ForeignGuard<'a, T>(&'a ForeignLock<T>);

impl<T> Deref for ForeignGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock for as long as the guard lives.
        unsafe { &*self.0.locked.0.data.get() }
    }
}

impl<T> DerefMut for ForeignGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.0.locked.0.data.get() }
    }
}

impl<T> Drop for ForeignGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread locked it when it made the guard.
        unsafe { (self.0.functions.unlock)(self.0.lock_address()) };
    }
}

/// The lock, as the family of one library's locks.
pub struct Of<L, T> {
    lock: ForeignLock<T>,
    library: std::marker::PhantomData<L>,
}

impl<L: Library, T> Of<L, T> {
    fn unlocked(data: T) -> Self {
        Of { lock: ForeignLock::of::<L>(data), library: std::marker::PhantomData }
    }
}

impl<L: Library, T: Send + 'static> Mutex<T> for Of<L, T> {
    fn new(data: T) -> Self {
        Of::unlocked(data)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock.guard())
    }
}

impl<L: Library, T: Send + Sync + 'static> RwLock<T> for Of<L, T> {
    fn new(data: T) -> Self {
        Of::unlocked(data)
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        self.lock.reading(section)
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock.guard())
    }
}

impl<L: Library, T: Send + 'static> Monitor<T> for Of<L, T> {
    type Condvar = ForeignCondvar<L>;
    type Guard<'a> = ForeignGuard<'a, T>;

    fn new(data: T) -> Self {
        Of::unlocked(data)
    }

    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        self.lock.guard()
    }

    #[inline]
    fn wait<'a>(guard: Self::Guard<'a>, condvar: &ForeignCondvar<L>) -> Self::Guard<'a> {
        let lock = guard.0;
        // SAFETY: both objects stay where they are, and the guard proves that this thread holds the lock,
        // as it does again when the call returns.
        unsafe { (lock.functions.wait)(condvar.address(), lock.lock_address()) };
        guard
    }
}

/// Boxed, as the lock is.
pub struct ForeignCondvar<L> {
    condvar: Box<Padded<UnsafeCell<Object>>>,
    functions: Functions,
    library: std::marker::PhantomData<L>,
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
            condvar: Box::new(Padded(UnsafeCell::new(Object::default()))),
            functions: L::functions().expect("whoever measures asks first whether it is here"),
            library: std::marker::PhantomData,
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
