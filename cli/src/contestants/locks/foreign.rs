//! Libraries that are loaded at run time: they need not be installed.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::transmute;

use super::c::Calls;

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

pub trait Library: Copy + Send + Sync + 'static {
    /// The functions, or why they aren't there.
    fn functions() -> Result<Functions, String>;
}

/// The calls of a library that was loaded.
#[derive(Clone, Copy)]
pub struct Foreign<L> {
    functions: Functions,
    library: PhantomData<L>,
}

impl<L: Library> Foreign<L> {
    /// Why the library can't be measured on this machine, if so.
    pub fn absent() -> Option<String> {
        L::functions().err()
    }
}

/// Room for any of the libraries' objects.
type Object = [usize; 4];

macro_rules! calls {
    ($($name:ident($($object:ident),+) $function:ident;)+) => {$(
        #[inline]
        unsafe fn $name(self, $($object: *mut Object),+) {
            // SAFETY: the caller's promise is what the libraries ask for.
            unsafe { (self.functions.$function)($($object.cast()),+) };
        }
    )+};
}

// SAFETY: the libraries' locks exclude.
unsafe impl<L: Library> Calls for Foreign<L> {
    type Mutex = Object;
    type RwLock = Object;
    type Condvar = Object;

    const MUTEX: Object = [0; 4];
    const RWLOCK: Object = [0; 4];
    const CONDVAR: Object = [0; 4];

    fn here() -> Self {
        let functions = L::functions().expect("the library was found before");
        Foreign { functions, library: PhantomData }
    }

    calls! {
        lock(mutex) lock;
        unlock(mutex) unlock;
        read_lock(rwlock) read_lock;
        read_unlock(rwlock) read_unlock;
        write_lock(rwlock) lock;
        write_unlock(rwlock) unlock;
        wait(condvar, mutex) wait;
        signal(condvar) signal;
        broadcast(condvar) broadcast;
    }
}
