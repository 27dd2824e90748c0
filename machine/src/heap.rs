//! Heap memory that lies at the same addresses in each process, as stacks do (`memory`).

use crate::memory::map_at;
use crate::world::World;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;

/// Where the heap begins: far from where the kernel puts things.
const HEAP: usize = 0x1000_0000_0000;
const HEAP_BYTES: usize = 1 << 36;

/// An allocator that serves simulated threads from memory of their own, and all others from the
/// system's. For programs that simulate:
///
/// ```
/// #[global_allocator]
/// static HEAP: machine::Heap = machine::Heap;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Heap;

/// Sizes are powers of two; each has a list of free blocks, linked through their first word.
const CLASSES: usize = 48;
const LEAST: usize = 16;

struct Blocks {
    free: [usize; CLASSES],
    /// Addresses that have not been used yet. Both are 0 before the heap is mapped, and 1 if it
    /// can't be.
    next: usize,
    end: usize,
}

static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks { free: [0; CLASSES], next: 0, end: 0 });

fn class(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(LEAST);
    size.next_power_of_two().trailing_zeros() as usize
}

fn is_ours(block: *mut u8) -> bool {
    (HEAP..HEAP + HEAP_BYTES).contains(&block.addr())
}

impl Blocks {
    /// A block, aligned to its size; `None` if there is no memory left.
    fn take(&mut self, class: usize) -> Option<*mut u8> {
        let free = *self.free.get(class)?;
        if free != 0 {
            let block: *mut usize = std::ptr::with_exposed_provenance_mut(free);
            // SAFETY: a free block's first word is the next one's address.
            self.free[class] = unsafe { block.read() };
            return Some(block.cast());
        }
        if self.next == 0 {
            let mapped = map_at(HEAP, HEAP_BYTES).map(|start| (start, start + HEAP_BYTES));
            (self.next, self.end) = mapped.unwrap_or((1, 1));
        }
        let start = self.next.next_multiple_of(1 << class);
        let end = start.checked_add(1 << class)?;
        if end > self.end {
            return None;
        }
        self.next = end;
        Some(std::ptr::with_exposed_provenance_mut(start))
    }

    fn give_back(&mut self, block: *mut u8, class: usize) {
        // SAFETY: the block is large enough, aligned, and no one's any more.
        unsafe { block.cast::<usize>().write(self.free[class]) };
        self.free[class] = block.expose_provenance();
    }
}

// SAFETY: blocks are as large and as aligned as asked for, and given to one caller at a time.
// (Locking the mutex neither allocates nor unwinds.)
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if World::current().is_some() {
            let block = BLOCKS.lock().ok().and_then(|mut blocks| blocks.take(class(layout)));
            if let Some(block) = block {
                return block;
            }
        }
        // SAFETY: by this function's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_ours(block) {
            // SAFETY: by this function's contract.
            return unsafe { System.dealloc(block, layout) };
        }
        if let Ok(mut blocks) = BLOCKS.lock() {
            blocks.give_back(block, class(layout));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_used_again() {
        // Not at the heap's own address, which another test may use.
        let start = map_at(0, 1 << 20).unwrap();
        let mut blocks = Blocks { free: [0; CLASSES], next: start, end: start + (1 << 20) };
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        for (size, align, expected) in [(1, 1, 16), (17, 8, 32), (8, 64, 64), (4096, 8, 4096)] {
            let class = class(layout(size, align));
            assert_eq!(1 << class, expected);
            let (one, other) = (blocks.take(class).unwrap(), blocks.take(class).unwrap());
            assert!(one.addr() % expected == 0 && other.addr() % expected == 0);
            assert!(one.addr() + expected <= other.addr());
            blocks.give_back(one, class);
            blocks.give_back(other, class);
            assert_eq!(blocks.take(class), Some(other));
            assert_eq!(blocks.take(class), Some(one));
        }
        assert_eq!(blocks.take(21), None, "larger than all");
    }
}
