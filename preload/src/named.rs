//! Names for pthread's objects, which programs give if this library is there. `furwock who` and
//! the lines about long waits show them.

use core::ffi::{CStr, c_char, c_int, c_void};
use furwock::unstable::inspect::{are_there_names, remove_name, set_name};
use furwock::unstable::signals::closed;
use libc::{EINVAL, ENOMEM};

/// Names the pthread or C11 object at `object`, until it is destroyed; with a null `name` it has
/// none any more. Returns 0, EINVAL for a null object or a name that isn't UTF-8, ENOMEM if there
/// are too many names.
///
/// Programs declare it weakly, and call it if it is there (docs/tools.md).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn furwock_pthread_name(
    object: *const c_void,
    name: *const c_char,
) -> c_int {
    if object.is_null() {
        return EINVAL;
    }
    if name.is_null() {
        forget(object);
        return 0;
    }
    // SAFETY: the program's string.
    let Ok(name) = unsafe { CStr::from_ptr(name) }.to_str() else { return EINVAL };
    if closed(|| set_name(object.addr(), name)) { 0 } else { ENOMEM }
}

/// The object is destroyed. One load, as long as nothing has a name.
#[inline]
pub(crate) fn forget<T>(object: *const T) {
    if are_there_names() {
        forget_slow(object.addr());
    }
}

#[cold]
#[inline(never)]
fn forget_slow(object: usize) {
    closed(|| remove_name(object));
}
