//! How far user space reaches: 36 to 56 bits of addresses, by the processor and the kernel's
//! configuration, and on x86-64 a page less. Stacks and mappings lie at its end.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Addresses below this are in user space: what is below an address that is there, is there too.
pub(super) struct Reach(AtomicUsize);

/// Above these bits an address may carry a tag, which says nothing about others.
const UNTAGGED: u32 = 56;

impl Reach {
    pub(super) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Whether `address` is in user space. Asks if it lies above all that were found there.
    #[inline]
    pub(super) fn covers(&self, address: usize, ask: fn(usize) -> bool) -> bool {
        address < self.0.load(Ordering::Relaxed) || self.grow(address, ask)
    }

    #[cold]
    fn grow(&self, address: usize, ask: fn(usize) -> bool) -> bool {
        let is_in = ask(address);
        if is_in && address >> UNTAGGED == 0 {
            self.0.fetch_max(address + 1, Ordering::Relaxed);
        }
        is_in
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_kernels_whatever_was_asked_before() {
        type Ask = fn(usize) -> bool;
        // Kernels that strip tags before their check, and such that don't.
        let kernels: [(usize, Ask); 5] = [
            (1 << 38, |address| address << 8 >> 8 < 1 << 38),
            ((1 << 47) - 4096, |address| address < (1 << 47) - 4096),
            (1 << 48, |address| address << 8 >> 8 < 1 << 48),
            (1 << 52, |address| address << 8 >> 8 < 1 << 52),
            (1 << 56, |address| address < 1 << 56),
        ];
        for (end, ask) in kernels {
            let reach = Reach::new();
            let tagged = 3 << 56 | 0x1000;
            for address in [0x1000, end - 4, end, tagged, end - 8, end + 4096, usize::MAX] {
                assert_eq!(reach.covers(address, ask), ask(address), "{address:#x} of {end:#x}");
            }
        }
    }

    #[test]
    fn asks_once_for_all_that_lies_below() {
        let reach = Reach::new();
        assert!(reach.covers((1 << 48) - 4, |_| true));
        assert!(reach.covers(0x1000, |_| panic!("asked")));
    }
}
