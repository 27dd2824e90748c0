//! Condition variables with glibc's mutex: without requeueing, as the NPTL's was before Molnar's
//! patch of 2003 and as glibc's is since 2.25, and with it, as between the two.

use std::cell::RefCell;
use std::collections::VecDeque;

use machine::atomic::{AtomicU32, Ordering};
use machine::{kernel_wait, kernel_wake};

use super::glibc::GlibcMutex;
use super::nodes::Nodes;
use super::{Lock, Monitor, Padded};

/// A broadcast wakes all, and they race for the mutex.
pub struct GlibcCondvar {
    mutex: Padded<GlibcMutex>,
    broadcasts: Padded<AtomicU32>,
}

impl Monitor for GlibcCondvar {
    fn new(threads: usize) -> Self {
        GlibcCondvar {
            mutex: Padded(GlibcMutex::new(threads)),
            broadcasts: Padded(AtomicU32::new(0)),
        }
    }

    fn lock(&self) {
        self.mutex.0.lock();
    }

    fn unlock(&self) {
        self.mutex.0.unlock();
    }

    fn wait(&self) {
        let seen = self.broadcasts.0.load(Ordering::Relaxed);
        self.mutex.0.unlock();
        kernel_wait(&self.broadcasts.0, seen, None);
        self.mutex.0.lock();
    }

    fn broadcast(&self) {
        self.broadcasts.0.fetch_add(1, Ordering::Relaxed);
        kernel_wake(&self.broadcasts.0, usize::MAX);
    }
}

/// What a sleeper's word holds.
const ASLEEP: u32 = 0;
const WOKEN: u32 = 1;

/// A broadcast wakes one and moves the rest to the mutex, whose releases wake them one by one.
///
/// The kernel's two queues are lists here, each sleeper with a word of its own: the machine has no
/// call that moves sleepers. The lists belong to the mutex's holder and to the kernel's own lock,
/// and cost no virtual time.
pub struct RequeueingCondvar {
    mutex: Padded<AtomicU32>,
    sleepers: RefCell<VecDeque<u32>>,
    moved: RefCell<VecDeque<u32>>,
    nodes: Nodes,
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const CONTENDED: u32 = 2;

impl RequeueingCondvar {
    fn sleep(&self, own: u32) {
        let word = &self.nodes.of(own).word;
        while word.load(Ordering::Acquire) == ASLEEP {
            kernel_wait(word, ASLEEP, None);
        }
    }

    fn wake(&self, sleeper: u32) {
        let word = &self.nodes.of(sleeper).word;
        word.store(WOKEN, Ordering::Release);
        kernel_wake(word, 1);
    }

    /// From then on the mutex says that threads may sleep.
    fn take_contended(&self) {
        let own = Nodes::own();
        while self.mutex.0.swap(CONTENDED, Ordering::Acquire) != FREE {
            self.nodes.of(own).word.store(ASLEEP, Ordering::Relaxed);
            self.moved.borrow_mut().push_back(own);
            // As the kernel looks once more before it lets a thread sleep.
            if self.mutex.0.load(Ordering::SeqCst) != CONTENDED {
                let was_there = self.forget(own);
                if was_there {
                    continue;
                }
            }
            self.sleep(own);
        }
    }

    fn forget(&self, own: u32) -> bool {
        let mut moved = self.moved.borrow_mut();
        let before = moved.len();
        moved.retain(|each| *each != own);
        moved.len() < before
    }
}

impl Monitor for RequeueingCondvar {
    fn new(threads: usize) -> Self {
        RequeueingCondvar {
            mutex: Padded(AtomicU32::new(FREE)),
            sleepers: RefCell::default(),
            moved: RefCell::default(),
            nodes: Nodes::new(threads),
        }
    }

    fn lock(&self) {
        let taken =
            self.mutex.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            self.take_contended();
        }
    }

    fn unlock(&self) {
        if self.mutex.0.swap(FREE, Ordering::SeqCst) == CONTENDED {
            let first = self.moved.borrow_mut().pop_front();
            if let Some(first) = first {
                self.wake(first);
            }
        }
    }

    fn wait(&self) {
        let own = Nodes::own();
        self.nodes.of(own).word.store(ASLEEP, Ordering::Relaxed);
        self.sleepers.borrow_mut().push_back(own);
        self.unlock();
        self.sleep(own);
        self.take_contended();
    }

    fn broadcast(&self) {
        let mut sleepers = std::mem::take(&mut *self.sleepers.borrow_mut());
        if let Some(first) = sleepers.pop_front() {
            self.moved.borrow_mut().extend(sleepers);
            self.wake(first);
        }
    }
}
