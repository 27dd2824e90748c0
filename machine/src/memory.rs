//! Stacks that lie at the same addresses in each process, so that what a process
//! did before a simulation doesn't decide which words share a line, or a bucket of furwock's table.

use corosensei::stack::{Stack, StackPointer};
use std::io::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where stacks begin: far from where the kernel puts things.
const STACKS: usize = 0x2000_0000_0000;
const PAGE: usize = 1 << 12;

/// Maps `size` bytes at `address` if nothing is there.
pub(crate) fn map_at(address: usize, size: usize) -> Result<usize> {
    let place = std::ptr::without_provenance_mut(address);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let kind = kind | if address == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    // SAFETY: a new mapping disturbs nothing: it replaces none.
    let mapped = unsafe { libc::mmap(place, size, access, kind, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    Ok(mapped.expose_provenance())
}

/// A thread's stack, with a guard page below.
#[derive(Debug)]
pub(crate) struct ThreadStack {
    start: usize,
    size: usize,
}

impl ThreadStack {
    /// One of at least `bytes`.
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(STACKS);
        let size = bytes.max(4 * PAGE).next_multiple_of(PAGE) + PAGE;
        let address = NEXT.fetch_add(size, Ordering::Relaxed);
        let start = map_at(address, size).or_else(|_| map_at(0, size))?;
        let guard = std::ptr::with_exposed_provenance_mut(start);
        // SAFETY: a page of the mapping just made.
        if unsafe { libc::mprotect(guard, PAGE, libc::PROT_NONE) } != 0 {
            return Err(Error::last_os_error());
        }
        Ok(Self { start, size })
    }
}

// SAFETY: the stack has a guard page at its limit and several pages above, and lives as long as
// this.
unsafe impl Stack for ThreadStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.start + self.size).expect("a mapping's end isn't 0")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.start).expect("a mapping's start isn't 0")
    }
}

impl Drop for ThreadStack {
    fn drop(&mut self) {
        // SAFETY: this one's mapping, in which no thread runs any more.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.start), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_has_its_size_above_its_guard() {
        let stack = ThreadStack::new(100_000).unwrap();
        let (base, limit) = (stack.base().get(), stack.limit().get());
        assert!(base - limit >= 100_000 + PAGE && base % PAGE == 0);
        let top: *mut u8 = std::ptr::with_exposed_provenance_mut(base - 1);
        // SAFETY: within the stack, which no thread runs on.
        unsafe { top.write(1) };
    }
}
