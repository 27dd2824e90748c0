//! `FUTEX2_NUMA`: words whose waiters queue on a memory node of the word's choice.

use crate::prim::atomic::{AtomicU32, Ordering};

/// `FUTEX_NO_NODE`.
pub(super) const NO_NODE: u32 = u32::MAX;

/// A word with the number of the memory node on which the kernel keeps its queue (Linux 6.16).
///
/// Eight bytes, the value first: the kernel's layout. A word without a node gets, for good, that of
/// the first thread that waits on it or wakes it.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct NumaWord {
    value: AtomicU32,
    node: AtomicU32,
}

impl NumaWord {
    /// A word whose node its first user chooses.
    pub const fn new(value: u32) -> Self {
        Self::on_node(value, NO_NODE)
    }

    /// A word on `node`. Operations on a word whose node doesn't exist fail with `EINVAL`.
    pub const fn on_node(value: u32, node: u32) -> Self {
        Self { value: AtomicU32::new(value), node: AtomicU32::new(node) }
    }

    /// The word itself.
    ///
    /// To wait on it or wake it, pass the `NumaWord`: to the kernel this half alone is another
    /// word.
    pub const fn value(&self) -> &AtomicU32 {
        &self.value
    }

    /// Its node, if it has one already.
    pub fn node(&self) -> Option<u32> {
        Some(self.node.load(Ordering::Relaxed)).filter(|node| *node != NO_NODE)
    }
}

impl Default for NumaWord {
    fn default() -> Self {
        Self::new(0)
    }
}
