//! The table: 256 buckets a processor, fixed in size, mapped when the first thread has to wait.
//!
//! Zero pages are free locks and empty queues, so that making the table costs one system call and
//! no memory. Where there is no address space for it, a small table in the program's own zero pages
//! serves instead: nothing that waits can fail for want of memory.

use super::layout::Bucket;
use crate::lot::node::Key;

#[cfg(not(any(loom, shuttle)))]
pub(super) use native::bucket;
#[cfg(not(any(loom, shuttle)))]
use native::has_full_size;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use native::{is_single, processors, seems_single};

#[cfg(any(loom, shuttle))]
pub(super) use model::bucket;
#[cfg(any(loom, shuttle))]
use model::has_full_size;
#[cfg(any(loom, shuttle))]
pub(crate) use model::{is_single, processors, seems_single};

/// Makes the table now. Whether there was address space for it.
pub(crate) fn prepare() -> bool {
    bucket(Key::word(0));
    has_full_size()
}

/// Buckets for each processor (Bueso 2014, and the kernel since 3.14).
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
const BUCKETS_A_PROCESSOR: usize = 256;

#[cfg(not(any(loom, shuttle)))]
mod native {
    use super::super::hash::bucket_index;
    use super::*;
    use crate::prim::adjustable;
    use crate::prim::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
    use crate::sys::{fork, memory, priority, topology};

    /// The first bucket, with log2 of the number of buckets in the address's low bits, so that one
    /// load gives both; null before the first use.
    static TABLE: AtomicPtr<Bucket> = AtomicPtr::new(core::ptr::null_mut());

    /// Set when the kernel can't empty the table for a forked child.
    static NEEDS_SWEEP: AtomicBool = AtomicBool::new(false);

    const BITS_MASK: usize = align_of::<Bucket>() - 1;
    const RESERVE_BITS: u32 = BUCKETS_A_PROCESSOR.ilog2();

    static RESERVE: [Bucket; BUCKETS_A_PROCESSOR] = [const { Bucket::new() }; BUCKETS_A_PROCESSOR];

    /// The bucket of `key`.
    #[inline]
    pub(in super::super) fn bucket(key: Key) -> &'static Bucket {
        let mut table = TABLE.load(Ordering::Acquire);
        if table.is_null() {
            table = make();
        }
        let index = bucket_index(key.to_bits(), bits(table));
        // SAFETY: the table has 1 << bits buckets, is never unmapped, and zero is a valid bucket.
        unsafe { &*first(table).add(index) }
    }

    #[inline]
    fn bits(table: *mut Bucket) -> u32 {
        (table.addr() & BITS_MASK) as u32
    }

    #[inline]
    fn first(table: *mut Bucket) -> *mut Bucket {
        table.map_addr(|address| address & !BITS_MASK)
    }

    /// Whether there was address space for the table, once it is made.
    pub(super) fn has_full_size() -> bool {
        !core::ptr::eq(first(TABLE.load(Ordering::Acquire)), RESERVE.as_ptr())
    }

    static PROCESSORS: AtomicUsize = AtomicUsize::new(1);

    /// The one processor that the maker of the table could use.
    static ONLY: AtomicU32 = AtomicU32::new(u32::MAX);

    /// Processors that this process may use, as of the table's making.
    #[inline]
    pub(crate) fn processors() -> usize {
        PROCESSORS.load(Ordering::Relaxed)
    }

    /// Whether no second processor is known: `is_single` without a look at the caller's, for what
    /// a wrong answer only makes slower. So a thread that only releases doesn't find a second one;
    /// the first that has to wait there does.
    #[inline]
    pub(crate) fn seems_single() -> bool {
        processors() == 1
    }

    /// Whether all threads have to share one processor. False as long as that isn't known: before
    /// the table is made.
    ///
    /// The table's maker may have been bound to a processor, and other threads to others: the first
    /// that asks on another one finds out that there are several.
    pub(crate) fn is_single() -> bool {
        if !seems_single() || TABLE.load(Ordering::Relaxed).is_null() {
            return false;
        }
        let (only, here) = (ONLY.load(Ordering::Relaxed), topology::current_cpu());
        let single = only == u32::MAX || here == u32::MAX || only == here;
        if !single {
            PROCESSORS.store(2, Ordering::Relaxed);
        }
        single
    }

    /// By C's rules, which tell callers that it doesn't unwind: fast paths are shorter for it.
    #[cold]
    extern "C" fn make() -> *mut Bucket {
        static HOOK: fork::Hook = fork::Hook(forget);
        fork::on_child(&HOOK);
        // Asked here, before a sandbox forbids it, and nowhere else unless the program says so.
        if priority::realtime_priority() != 0 {
            priority::there_are_ranks();
        }
        let processors = topology::processors();
        PROCESSORS.store(processors, Ordering::Relaxed);
        ONLY.store(topology::current_cpu(), Ordering::Relaxed);
        let buckets = (adjustable!(BUCKETS_A_PROCESSOR, Buckets) * processors).next_power_of_two();
        let size = buckets * size_of::<Bucket>();
        let (table, wiped_on_fork) = match memory::map_zeroed_wiped_on_fork(size) {
            Some(pages) => {
                topology::interleave(pages.start, size);
                let first = pages.start.as_ptr().cast::<Bucket>();
                (first.map_addr(|address| address | buckets.ilog2() as usize), pages.wiped_on_fork)
            }
            None => {
                let first = RESERVE.as_ptr().cast_mut();
                (first.map_addr(|address| address | RESERVE_BITS as usize), false)
            }
        };
        if !wiped_on_fork {
            NEEDS_SWEEP.store(true, Ordering::Relaxed);
        }
        // A thread that lost the race leaves its mapping unused: address space, no memory.
        match TABLE.compare_exchange(
            core::ptr::null_mut(),
            table,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => table,
            Err(other) => other,
        }
    }

    /// Empties the table in a forked child, where the kernel hasn't.
    fn forget(_tid: u32) {
        let table = TABLE.load(Ordering::Acquire);
        if table.is_null() || !NEEDS_SWEEP.load(Ordering::Relaxed) {
            return;
        }
        for index in 0..1usize << bits(table) {
            // SAFETY: within the table. The child has one thread, and it isn't in any bucket.
            unsafe {
                let bucket = &*first(table).add(index);
                bucket.lock.reset();
                bucket.waiters.store(0, Ordering::Relaxed);
                bucket.queue.0.reset();
            }
        }
    }
}

#[cfg(any(loom, shuttle))]
mod model {
    use super::*;

    crate::prim::model_static! {
        static ref BUCKETS: [Bucket; 2] = [Bucket::new(), Bucket::new()];
    }

    pub(crate) fn processors() -> usize {
        1
    }

    /// Several wakes under way at a time are a model's to try.
    pub(crate) fn is_single() -> bool {
        false
    }

    pub(crate) fn seems_single() -> bool {
        false
    }

    pub(super) fn has_full_size() -> bool {
        true
    }

    /// Bit 6 of the address chooses, so that a model decides by alignment which words collide, and
    /// every execution of it decides alike.
    pub(in super::super) fn bucket(key: Key) -> &'static Bucket {
        let buckets: &'static [Bucket; 2] = crate::prim::for_ever(&BUCKETS);
        &buckets[(key.to_bits() >> 6) as usize & 1]
    }
}
