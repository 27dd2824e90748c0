//! A stretch of the stack, read through the kernel, which refuses where there is no memory.

use super::super::kernel::call;
use super::super::part::PROCESS;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::Ordering;

/// A copy of a stretch of the stack.
pub(in super::super) struct StackCopy {
    from: Cell<usize>,
    length: Cell<usize>,
    bytes: UnsafeCell<[u8; COPIED]>,
}

const COPIED: usize = 4 * PAGE;
const PAGE: usize = 4096;

impl StackCopy {
    /// What it has was read during another wait.
    pub(in super::super) fn forget(&self) {
        self.length.set(0);
    }

    /// The word at `address`.
    pub(super) fn word(&self, address: usize) -> Option<usize> {
        let is_in = |address: usize| {
            address >= self.from.get()
                && address - self.from.get() + size_of::<usize>() <= self.length.get()
        };
        if !is_in(address) {
            self.fill(address);
            if !is_in(address) {
                return None;
            }
        }
        let at = address - self.from.get();
        // SAFETY: within what was filled, by this thread alone.
        Some(unsafe { self.bytes.get().cast::<u8>().add(at).cast::<usize>().read_unaligned() })
    }

    /// Copies from `address` on, as far as there is memory.
    fn fill(&self, address: usize) {
        self.length.set(0);
        // SAFETY: this thread's own buffer.
        let to = unsafe { &mut *self.bytes.get() };
        let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: COPIED };
        // A stretch ends at the first that isn't there: one for each page.
        let mut start = address;
        let remote: [libc::iovec; 4] = core::array::from_fn(|_| {
            let end = (start + 1).next_multiple_of(PAGE);
            let page = libc::iovec {
                iov_base: core::ptr::without_provenance_mut(start),
                iov_len: end - start,
            };
            start = end;
            page
        });
        let process = PROCESS.id.load(Ordering::Relaxed) as usize;
        let (local, remote) =
            ((&raw const local).expose_provenance(), remote.as_ptr().expose_provenance());
        // SAFETY: writes into the buffer.
        let copied = unsafe { call(libc::SYS_process_vm_readv, [process, local, 1, remote, 4, 0]) };
        self.from.set(address);
        self.length.set(copied.unwrap_or(0));
    }
}
