//! The kernel's futex hash table before and after Bueso's patches of 2014: buckets with a ticket
//! spinlock each, 256 in all and packed, or 256 for each processor on lines of their own. A wait
//! that finds another value takes its bucket's lock, reads the word, and leaves.

use machine::atomic::{AtomicU32, Ordering};
use machine::work_ns;

use super::ticket::Ticket;
use super::{Lock, Padded};
use crate::harness::random::mix;

/// What the kernel does besides: entry and exit, key and hash.
const CALL_NS: u64 = 150;
/// What it does in its bucket: the word is read with faults off, the queue's head looked at.
const IN_BUCKET_NS: u64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableShape {
    /// Until 3.12: 24 bytes each, so that eight of them share three cache lines.
    Buckets256,
    /// Since 3.13.
    Buckets256EachCpu,
}

pub struct KernelTable {
    buckets: Buckets,
}

/// A spinlock and a queue's two pointers.
#[derive(Default)]
#[repr(C)]
struct Packed {
    lock: Ticket,
    _queue: [usize; 2],
}

enum Buckets {
    Packed(Box<[Packed]>),
    Apart(Box<[Padded<Ticket>]>),
}

impl KernelTable {
    pub fn new(shape: TableShape, processors: usize) -> Self {
        let buckets = match shape {
            TableShape::Buckets256 => {
                Buckets::Packed((0..256).map(|_| Packed::default()).collect())
            }
            TableShape::Buckets256EachCpu => {
                let count = (256 * processors).next_power_of_two();
                Buckets::Apart((0..count).map(|_| Padded::default()).collect())
            }
        };
        KernelTable { buckets }
    }

    fn bucket(&self, hash: usize) -> &Ticket {
        match &self.buckets {
            Buckets::Packed(all) => &all[hash % all.len()].lock,
            Buckets::Apart(all) => &all[hash % all.len()].0,
        }
    }

    /// A wait that finds another value than it expects. `name` is what the kernel hashes, in the
    /// place of the word's address.
    pub fn mismatched_wait(&self, name: u64, word: &AtomicU32) -> u32 {
        work_ns(CALL_NS);
        let bucket = self.bucket(mix(name) as usize);
        bucket.lock();
        let value = word.load(Ordering::Relaxed);
        work_ns(IN_BUCKET_NS);
        bucket.unlock();
        value
    }
}
