//! Queue nodes: one for each thread, on cache lines of its own.

use super::platform::{AtomicU32, Ordering, Padded, spin_until, thread_index};
use super::waiting::WAITS;

/// No node. Nodes are named by their index plus one.
pub const NONE: u32 = 0;

#[derive(Default)]
pub struct Node {
    pub next: AtomicU32,
    /// What the thread waits on.
    pub word: AtomicU32,
}

/// The nodes of all threads, for one lock.
pub struct Nodes(Box<[Padded<Node>]>);

impl Nodes {
    pub fn new(threads: usize) -> Self {
        Nodes((0..threads).map(|_| Padded(Node::default())).collect())
    }

    /// The calling thread's name.
    pub fn own() -> u32 {
        u32::try_from(thread_index()).expect("few threads") + 1
    }

    pub fn of(&self, name: u32) -> &Node {
        &self.0[name as usize - 1].0
    }

    /// Appends the calling thread's node, ready to be waited on, to the queue that ends at `tail`;
    /// returns its name, and the name of the node before it.
    pub fn append(&self, tail: &AtomicU32) -> (u32, u32) {
        let own = Self::own();
        let node = self.of(own);
        node.next.store(NONE, Ordering::Relaxed);
        node.word.store(WAITS, Ordering::Relaxed);
        let before = tail.swap(own, Ordering::AcqRel);
        if before != NONE {
            self.of(before).next.store(own, Ordering::Release);
        }
        (own, before)
    }

    /// The same if the queue is empty.
    pub fn try_append(&self, tail: &AtomicU32) -> bool {
        let own = Self::own();
        let node = self.of(own);
        node.next.store(NONE, Ordering::Relaxed);
        node.word.store(WAITS, Ordering::Relaxed);
        tail.compare_exchange(NONE, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The node after `own`, or `NONE` if `own` was the last: then the queue is empty.
    pub fn leave_or_next(&self, tail: &AtomicU32, own: u32) -> u32 {
        let next = self.of(own).next.load(Ordering::Acquire);
        if next != NONE {
            return next;
        }
        if tail.compare_exchange(own, NONE, Ordering::Release, Ordering::Relaxed).is_ok() {
            return NONE;
        }
        self.awaited_next(own)
    }

    /// The node after `own`, which is about to be linked.
    pub fn awaited_next(&self, own: u32) -> u32 {
        spin_until(&self.of(own).next, |next| next != NONE)
    }
}
