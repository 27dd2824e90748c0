//! Sandboxes that the program enters (`crate::sandbox`). The recorder makes its own system calls
//! before, and afterwards none but those that furwock makes on the way to a lock anyway.

use super::{modules, part, thread};
use crate::{loaded, sandbox};
use core::ffi::c_long;

/// Whether the recorder is to leave that call out.
#[inline]
pub(super) fn forbids(number: c_long) -> bool {
    sandbox::is_entered() && !is_allowed(number)
}

/// Those of the recorder's calls that furwock makes without it, too.
fn is_allowed(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_getpid | libc::SYS_gettid | libc::SYS_tgkill | libc::SYS_clock_gettime
    )
}

/// Makes the calls that would be made later: for the part's memory, this thread's entry, and the
/// program's path. (If the program then fails to enter it, it most likely enters another.)
pub(crate) fn before_sandbox() {
    thread::record::<()>(|_| {
        if part::grow() {
            // SAFETY: the kernel has told where the program begins.
            modules::note(unsafe { libc::getauxval(libc::AT_ENTRY) } as usize);
        }
        None
    });
    loaded::ask_kernel_no_more();
}
