//! The library's version.

use core::ffi::{CStr, c_char, c_uint};

/// The version of the library that the program runs with, as FURWOCK_VERSION has that of the header
/// which it was compiled with: 10000 times the first number, plus 100 times the second, plus the
/// third.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_version() -> c_uint {
    VERSION
}

/// The same as a string, as FURWOCK_VERSION_STRING. It is the library's own, and stays.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_version_string() -> *const c_char {
    STRING.as_ptr()
}

const VERSION: c_uint = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10000
    + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + number(env!("CARGO_PKG_VERSION_PATCH"));

const STRING: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(string) => string,
        Err(_) => panic!("a version has no zero byte"),
    };

const fn number(digits: &str) -> c_uint {
    let digits = digits.as_bytes();
    let (mut number, mut at) = (0, 0);
    while at < digits.len() {
        number = number * 10 + (digits[at] - b'0') as c_uint;
        at += 1;
    }
    number
}
