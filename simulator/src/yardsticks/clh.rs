//! CLH (Craig 1993; Magnusson, Landin and Hagersten 1994): a queue without links. Each thread waits
//! on the word of the thread before it, and takes over that thread's node for its next turn.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};

use super::{Lock, Padded, thread_index};

const FREE: u32 = 0;
const TAKEN: u32 = 1;

pub struct Clh {
    /// The index of the last node.
    tail: AtomicU32,
    /// One for each thread, and the free one that the queue begins with.
    nodes: Box<[Padded<AtomicU32>]>,
    /// The node that each thread will use next, or has in the queue: private to the thread.
    owned: Box<[Cell<u32>]>,
    /// The node that the holder will take over.
    inherited: Cell<u32>,
}

impl Lock for Clh {
    fn new(threads: usize) -> Self {
        let count = u32::try_from(threads).expect("few threads");
        Clh {
            tail: AtomicU32::new(count),
            nodes: (0..=threads).map(|_| Padded(AtomicU32::new(FREE))).collect(),
            owned: (0..count).map(Cell::new).collect(),
            inherited: Cell::new(0),
        }
    }

    fn lock(&self) {
        let own = self.owned[thread_index()].get();
        self.nodes[own as usize].0.store(TAKEN, Ordering::Relaxed);
        let before = self.tail.swap(own, Ordering::AcqRel);
        self.nodes[before as usize].0.spin_until(Ordering::Acquire, |node| node == FREE);
        self.inherited.set(before);
    }

    fn unlock(&self) {
        let owned = &self.owned[thread_index()];
        let own = owned.replace(self.inherited.get());
        self.nodes[own as usize].0.store(FREE, Ordering::Release);
    }
}
