//! HMCS with two levels (Chabbi, Fagan and Mellor-Crummey, PPoPP 2015): an MCS queue for each
//! memory node, whose first thread queues for all of them in an MCS queue of nodes. The word that a
//! thread waits on says how many turns its node has had, or that it has to queue above.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};

use super::nodes::NONE;
use super::{Lock, Padded, TryLock, nodes_online, this_node, thread_index};

/// What a thread's word holds besides a number of turns.
const WAITS: u32 = u32::MAX;
const QUEUE_ABOVE: u32 = u32::MAX - 1;
/// Turns that a node has in a row.
const TURNS: u32 = 100;

#[derive(Default)]
struct Link {
    next: AtomicU32,
    status: AtomicU32,
}

/// A queue, of threads or of nodes.
struct Queue {
    tail: AtomicU32,
}

impl Queue {
    /// Appends `links[own]`; true if it is the first.
    fn append(&self, links: &[Padded<Link>], own: usize) -> bool {
        links[own].0.next.store(NONE, Ordering::Relaxed);
        links[own].0.status.store(WAITS, Ordering::Relaxed);
        match self.tail.swap(own as u32 + 1, Ordering::AcqRel) {
            NONE => true,
            before => {
                links[before as usize - 1].0.next.store(own as u32 + 1, Ordering::Release);
                false
            }
        }
    }

    /// Appends `links[own]` if the queue is empty.
    fn try_append(&self, links: &[Padded<Link>], own: usize) -> bool {
        links[own].0.next.store(NONE, Ordering::Relaxed);
        links[own].0.status.store(WAITS, Ordering::Relaxed);
        let name = own as u32 + 1;
        self.tail.compare_exchange(NONE, name, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn wait(links: &[Padded<Link>], own: usize) -> u32 {
        links[own].0.status.spin_until(Ordering::Acquire, |status| status != WAITS)
    }

    /// Leaves the queue, and tells the next that `status`.
    fn leave(&self, links: &[Padded<Link>], own: usize, status: u32) {
        let name = own as u32 + 1;
        let mut next = links[own].0.next.load(Ordering::Acquire);
        if next == NONE {
            let left = self.tail.compare_exchange(name, NONE, Ordering::Release, Ordering::Relaxed);
            if left.is_ok() {
                return;
            }
            next = links[own].0.next.spin_until(Ordering::Acquire, |next| next != NONE);
        }
        links[next as usize - 1].0.status.store(status, Ordering::Release);
    }
}

pub struct HierarchicalMcs {
    upper: Padded<Queue>,
    upper_links: Box<[Padded<Link>]>,
    locals: Box<[Padded<Queue>]>,
    links: Box<[Padded<Link>]>,
    /// In which node each thread took the lock: it may have moved since.
    taken_in: Box<[Cell<usize>]>,
}

impl Lock for HierarchicalMcs {
    fn new(threads: usize) -> Self {
        let queue = || Padded(Queue { tail: AtomicU32::new(NONE) });
        let links = |count| (0..count).map(|_| Padded::<Link>::default()).collect();
        HierarchicalMcs {
            upper: queue(),
            upper_links: links(nodes_online()),
            locals: (0..nodes_online()).map(|_| queue()).collect(),
            links: links(threads),
            taken_in: (0..threads).map(|_| Cell::new(0)).collect(),
        }
    }

    fn lock(&self) {
        let (own, node) = (thread_index(), this_node());
        self.taken_in[own].set(node);
        let is_first = self.locals[node].0.append(&self.links, own);
        if !is_first && Queue::wait(&self.links, own) != QUEUE_ABOVE {
            return;
        }
        self.links[own].0.status.store(1, Ordering::Relaxed);
        if !self.upper.0.append(&self.upper_links, node) {
            Queue::wait(&self.upper_links, node);
        }
    }

    fn unlock(&self) {
        let own = thread_index();
        let node = self.taken_in[own].get();
        let turns = self.links[own].0.status.load(Ordering::Relaxed);
        if turns < TURNS {
            let next = self.links[own].0.next.load(Ordering::Acquire);
            if next != NONE {
                let status = &self.links[next as usize - 1].0.status;
                return status.store(turns + 1, Ordering::Release);
            }
        }
        self.upper.0.leave(&self.upper_links, node, 0);
        self.locals[node].0.leave(&self.links, own, QUEUE_ABOVE);
    }
}

impl TryLock for HierarchicalMcs {
    fn try_lock(&self) -> bool {
        let (own, node) = (thread_index(), this_node());
        self.taken_in[own].set(node);
        let local = &self.locals[node].0;
        if !local.try_append(&self.links, own) {
            return false;
        }
        self.links[own].0.status.store(1, Ordering::Relaxed);
        if self.upper.0.try_append(&self.upper_links, node) {
            return true;
        }
        local.leave(&self.links, own, QUEUE_ABOVE);
        false
    }
}
