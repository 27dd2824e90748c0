//! Zeroed pages from the kernel.

use core::ptr::NonNull;

/// Pages from the kernel.
pub(crate) struct Pages {
    pub(crate) start: NonNull<u8>,
    /// Whether a forked child will find them zeroed (kernels before 4.14 can't do that).
    pub(crate) wiped_on_fork: bool,
}

/// Maps `size` bytes of zero pages, which cost nothing before they are touched, and asks the kernel
/// to give a forked child zeroes instead of a copy.
///
/// `None` when there is no memory or address space left.
pub(crate) fn map_zeroed_wiped_on_fork(size: usize) -> Option<Pages> {
    let start = map_zeroed(size)?;
    if cfg!(miri) {
        return Some(Pages { start, wiped_on_fork: false });
    }
    // SAFETY: the range is the mapping just made.
    let result = unsafe { libc::madvise(start.as_ptr().cast(), size, libc::MADV_WIPEONFORK) };
    Some(Pages { start, wiped_on_fork: result == 0 })
}

/// Untouched pages need no memory. (Miri lacks the flag.)
const UNRESERVED: libc::c_int = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };

/// Maps `size` bytes of zero pages. `None` when there is no memory or address space left.
pub(crate) fn map_zeroed(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new private mapping at an address of the kernel's choice disturbs nothing.
    let pages = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | UNRESERVED,
            -1,
            0,
        )
    };
    if pages == libc::MAP_FAILED { None } else { NonNull::new(pages.cast()) }
}

/// Gives back what `map_zeroed` gave.
///
/// # Safety
/// The pages must no longer be in use.
pub(crate) unsafe fn unmap(start: NonNull<u8>, size: usize) {
    // SAFETY: by this function's contract.
    unsafe { libc::munmap(start.as_ptr().cast(), size) };
}
