//! The memory that rounds use again and again.

use super::round::{Random, SIZE};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

const CELLS: u64 = 8;

/// Where in a cell an object may begin: few places, so that each is used often, by all kinds.
const OFFSETS: [usize; 3] = [0, 64, 72];

/// Some cells, each for one object at a time.
pub(super) struct Pool(*mut u8);

// SAFETY: hands out addresses only.
unsafe impl Sync for Pool {}

impl Pool {
    /// It lasts as long as the process: leaked waiters may be queued at its addresses.
    pub(super) fn new() -> Self {
        let size = (SIZE + 128) * CELLS as usize;
        let layout = Layout::from_size_align(size, 4096).expect("a small layout");
        // SAFETY: of a size.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Self(memory)
    }

    /// A place for an object of this layout.
    pub(super) fn place(&self, random: &mut Random, layout: Layout) -> *mut u8 {
        assert!(layout.size() <= SIZE && layout.align() <= 128);
        let cell = random.below(CELLS) as usize * (SIZE + 128);
        let offset = OFFSETS[random.below(OFFSETS.len() as u64) as usize];
        // SAFETY: within the allocation.
        unsafe { self.0.add(cell + (offset & !(layout.align() - 1))) }
    }
}
