//! A bucket: two cache lines, of which zero bytes are an empty one.

use super::queue::Queue;
use crate::lot::node::TableLock;
use crate::prim::atomic::AtomicU32;
use crate::prim::const_unless_model;

/// The lock and the count on one cache line, the queue's ends on the next: a waker that only checks
/// for waiters doesn't disturb threads that queue.
#[repr(C, align(64))]
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) lock: TableLock,
    /// Waiters in the queue, and those on their way into it.
    pub(super) waiters: AtomicU32,
    /// Room for what locks learnt here: no more than advice, and shared by those that collide.
    pub(super) advice: [AtomicU32; 6],
    pub(super) queue: QueueLine,
}

#[repr(C, align(64))]
#[derive(Debug)]
pub(super) struct QueueLine(pub(super) Queue);

impl Bucket {
    const_unless_model! {
        pub(super) fn new() -> Self {
            Self {
                lock: TableLock::new(),
                waiters: AtomicU32::new(0),
                advice: [
                    AtomicU32::new(0),
                    AtomicU32::new(0),
                    AtomicU32::new(0),
                    AtomicU32::new(0),
                    AtomicU32::new(0),
                    AtomicU32::new(0),
                ],
                queue: QueueLine(Queue::new()),
            }
        }
    }
}
