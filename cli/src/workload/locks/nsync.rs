//! The C library nsync, loaded when it is asked for: it need not be there.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use super::{Family, Mutex, Padded, RwLock};

/// The C library nsync; its one lock is mutex and rwlock.
pub struct Nsync;

impl Family for Nsync {
    type Mutex<T: Send + Sync + 'static> = NsyncMu<T>;
    type RwLock<T: Send + Sync + 'static> = NsyncMu<T>;
}

const LIBRARY: &CStr = c"libnsync.so.1";
/// Debian's name for it.
const PACKAGE: &str = "libnsync1";

type Function = unsafe extern "C" fn(*mut Mu);

/// nsync_mu: a word, and a pointer to whoever waits. Zero is unlocked.
#[repr(C)]
struct Mu {
    word: u32,
    waiters: *mut c_void,
}

#[derive(Clone, Copy)]
struct Functions {
    lock: Function,
    unlock: Function,
    read_lock: Function,
    read_unlock: Function,
}

/// Why nsync can't be measured here, if so.
pub fn absent() -> Option<String> {
    functions().err()
}

fn functions() -> Result<Functions, String> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    LOADED.get_or_init(|| load(LIBRARY)).clone()
}

/// The library stays loaded.
fn load(library: &CStr) -> Result<Functions, String> {
    // SAFETY: the name is a string, and nsync's constructors have no preconditions.
    let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW) };
    if handle.is_null() {
        let library = library.to_string_lossy();
        return Err(format!("{library} is not here; Debian's package is {PACKAGE}"));
    }
    let function = |name: &CStr| {
        // SAFETY: the handle is open, the name is a string.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
        if address.is_null() {
            return Err(format!("{} has no {}", library.to_string_lossy(), name.to_string_lossy()));
        }
        // SAFETY: nsync declares each of the functions asked for below as `void f(nsync_mu *)`.
        Ok(unsafe { std::mem::transmute::<*mut c_void, Function>(address) })
    };
    Ok(Functions {
        lock: function(c"nsync_mu_lock")?,
        unlock: function(c"nsync_mu_unlock")?,
        read_lock: function(c"nsync_mu_rlock")?,
        read_unlock: function(c"nsync_mu_runlock")?,
    })
}

/// An nsync_mu with the data that it protects. Boxed, because its address must never change. The
/// functions' addresses are beside the box, not in it: they are read by all, and written by nobody.
pub struct NsyncMu<T> {
    locked: Box<Padded<Locked<T>>>,
    functions: Functions,
}

struct Locked<T> {
    mu: UnsafeCell<Mu>,
    data: UnsafeCell<T>,
}

// SAFETY: an nsync_mu may be used by any thread, and the data goes along.
unsafe impl<T: Send> Send for NsyncMu<T> {}
// SAFETY: the lock excludes; readers share the data, writers have it alone.
unsafe impl<T: Send + Sync> Sync for NsyncMu<T> {}

impl<T> NsyncMu<T> {
    fn unlocked(data: T) -> Self {
        let functions = functions().expect("whoever measures asks first whether nsync is here");
        let mu = UnsafeCell::new(Mu { word: 0, waiters: std::ptr::null_mut() });
        let locked = Box::new(Padded(Locked { mu, data: UnsafeCell::new(data) }));
        NsyncMu { locked, functions }
    }

    #[inline]
    fn exclusively<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let Locked { mu, data } = &self.locked.0;
        // SAFETY: the nsync_mu stays where it is while `self` lives.
        unsafe { (self.functions.lock)(mu.get()) };
        // SAFETY: this thread holds the lock until the call below.
        let result = section(unsafe { &mut *data.get() });
        // SAFETY: this thread locked it above.
        unsafe { (self.functions.unlock)(mu.get()) };
        result
    }
}

impl<T: Send + Sync + 'static> Mutex<T> for NsyncMu<T> {
    fn new(data: T) -> Self {
        NsyncMu::unlocked(data)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        self.exclusively(section)
    }
}

impl<T: Send + Sync + 'static> RwLock<T> for NsyncMu<T> {
    fn new(data: T) -> Self {
        NsyncMu::unlocked(data)
    }

    #[inline]
    fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        let Locked { mu, data } = &self.locked.0;
        // SAFETY: the nsync_mu stays where it is while `self` lives.
        unsafe { (self.functions.read_lock)(mu.get()) };
        // SAFETY: this thread holds the lock for reading until the call below.
        let result = section(unsafe { &*data.get() });
        // SAFETY: this thread locked it for reading above.
        unsafe { (self.functions.read_unlock)(mu.get()) };
        result
    }

    #[inline]
    fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        self.exclusively(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_its_package() {
        let reason = load(c"libnsync-no-such.so").err().unwrap();
        assert_eq!(reason, "libnsync-no-such.so is not here; Debian's package is libnsync1");
    }
}
