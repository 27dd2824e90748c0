//! parking_lot_core: threads park on an address; it compares the word's value under the bucket's
//! lock.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use parking_lot_core::{
    DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, RequeueOp, park, unpark_all,
    unpark_filter, unpark_one, unpark_requeue,
};

use super::{ParkingLot, Words};

fn key(word: &AtomicU32) -> usize {
    word.as_ptr().addr()
}

impl Words for ParkingLot {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        let valid = || word.load(SeqCst) == value;
        // SAFETY: the address is the word's own, and the closures neither park nor unwind.
        let parked = unsafe { park(key(word), valid, || {}, |_, _| {}, DEFAULT_PARK_TOKEN, None) };
        std::hint::black_box(parked) != ParkResult::Invalid
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        let mut left = count;
        let filter = |_| {
            if left == 0 {
                return FilterOp::Stop;
            }
            left -= 1;
            FilterOp::Unpark
        };
        // SAFETY: as above, for all three.
        unsafe {
            match count {
                1 => unpark_one(key(word), |_| DEFAULT_UNPARK_TOKEN).unparked_threads,
                usize::MAX => unpark_all(key(word), DEFAULT_UNPARK_TOKEN),
                _ => unpark_filter(key(word), filter, |_| DEFAULT_UNPARK_TOKEN).unparked_threads,
            }
        }
    }

    /// It moves one, or all.
    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        let operation = if count == 1 { RequeueOp::RequeueOne } else { RequeueOp::RequeueAll };
        // SAFETY: as above.
        unsafe {
            unpark_requeue(key(from), key(to), || operation, |_, _| DEFAULT_UNPARK_TOKEN)
                .requeued_threads
        }
    }
}
