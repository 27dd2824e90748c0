//! A library that this program loads, instead of being linked with it or having it preloaded.
//!
//! The preload stays out of a program under valgrind, which it recognises by valgrind's library in
//! `LD_PRELOAD`. So this program takes that out of its environment before it loads the library, and
//! the preload needs no exception. The functions are those of a preloaded library; only the look-up
//! differs.

use libc::{Dl_info, RTLD_NOW};
use std::env;
use std::ffi::{CStr, CString, OsStr, c_void};
use std::mem::{MaybeUninit, transmute_copy};
use std::os::unix::ffi::OsStrExt;

pub struct Library {
    handle: *mut c_void,
    base: *mut c_void,
}

impl Library {
    /// Loads `file`; `own` is a function of it. To be called before there are threads.
    pub fn load(file: &OsStr, own: &CStr) -> Self {
        // SAFETY: there is one thread.
        unsafe { env::remove_var("LD_PRELOAD") };
        let path = CString::new(file.as_bytes()).expect("an argument has no NUL");
        // SAFETY: a C string; the library's constructors may run here.
        let handle = unsafe { libc::dlopen(path.as_ptr(), RTLD_NOW) };
        if handle.is_null() {
            // SAFETY: after a failure, a C string that lives until the next call.
            let error = unsafe { CStr::from_ptr(libc::dlerror()) };
            panic!("{}", error.to_string_lossy());
        }
        let base = base_of(find(handle, own));
        Self { handle, base }
    }

    /// The library's own function `name`.
    ///
    /// # Safety
    /// `F` is the type of a pointer to that function.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        let address = find(self.handle, name);
        let is_own = base_of(address) == self.base;
        assert!(is_own, "{name:?} isn't the library's own, but that of one that it depends on");
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: by this function's contract.
        unsafe { transmute_copy(&address) }
    }
}

fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a handle of `dlopen`'s and a C string.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    assert!(!address.is_null(), "the library has no {name:?}");
    address
}

/// Where the object that `address` lies in was mapped.
fn base_of(address: *mut c_void) -> *mut c_void {
    let mut info = MaybeUninit::<Dl_info>::uninit();
    // SAFETY: writes one `Dl_info` if the address lies in an object.
    unsafe {
        assert_ne!(libc::dladdr(address, info.as_mut_ptr()), 0, "no object has {address:?}");
        info.assume_init().dli_fbase
    }
}
