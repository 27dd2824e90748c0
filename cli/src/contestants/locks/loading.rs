//! Opens shared libraries, and finds functions in them.

use std::ffi::{CStr, CString, c_void};

/// An open library. It is never closed.
pub struct Loaded {
    handle: *mut c_void,
    name: String,
}

impl Loaded {
    /// Opens a library by its name, which `package` of Debian's brings.
    pub fn open(name: &CStr, package: &str) -> Result<Self, String> {
        // SAFETY: the name is a string, and the constructors of these libraries have no
        // preconditions.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        let name = name.to_string_lossy().into_owned();
        if handle.is_null() {
            return Err(format!("{name} is not here; Debian's package is {package}"));
        }
        Ok(Loaded { handle, name })
    }

    /// A function's address.
    pub fn function(&self, name: &str) -> Result<*mut c_void, String> {
        let c_name = CString::new(name).map_err(|_| format!("{name}: not a function's name"))?;
        // SAFETY: the handle is open, the name is a string.
        let address = unsafe { libc::dlsym(self.handle, c_name.as_ptr()) };
        if address.is_null() { Err(format!("{} has no {name}", self.name)) } else { Ok(address) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let reason = Loaded::open(c"libnsync-no-such.so", "libnsync1").err().unwrap();
        assert_eq!(reason, "libnsync-no-such.so is not here; Debian's package is libnsync1");
        let libc = Loaded::open(c"libc.so.6", "libc6").unwrap();
        assert!(libc.function("malloc").is_ok());
        assert_eq!(libc.function("no_such").err().unwrap(), "libc.so.6 has no no_such");
    }
}
