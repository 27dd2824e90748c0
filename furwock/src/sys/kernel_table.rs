//! The kernel's own table of sleepers.
//!
//! Since Linux 6.16 a process has one for its private futexes, of four buckets a thread, as far as
//! there are processors, and 16 at least. Each of furwock's threads sleeps on a word of its own:
//! where thousands sleep in 16 buckets, a wake walks past hundreds of them, with the bucket locked.
//! So the preload asks for more before the process has its second thread: the call takes
//! microseconds then, and later 20 to 30 ms. Nothing depends on it.

use super::sched_yield;
use super::syscall::{Errno, syscall};

/// 16 KiB of the kernel's memory, and 12 us of its time. (It makes 16 in 6 us.)
const BUCKETS: usize = 256;

/// The kernel itself gives up to so many for each processor that is online, and no longer does once
/// it was asked. (A process that may use fewer than are online has enough all the same.)
const A_PROCESSOR: usize = 4;

fn buckets(processors: usize) -> usize {
    (A_PROCESSOR * processors).next_power_of_two().max(BUCKETS)
}

/// Does nothing if this process has more than one thread, or if the program has chosen a number.
/// Where the kernel is older, or gives no memory, all stays as it was.
pub(crate) fn enlarge(processors: usize) {
    if !cfg!(any(miri, simulated)) && sched_yield::may_call() && table([GET_SLOTS, 0]) == Ok(0) {
        _ = table([SET_SLOTS, buckets(processors)]);
    }
}

const SET_SLOTS: usize = 1;
const GET_SLOTS: usize = 2;

fn table([what, slots]: [usize; 2]) -> Result<usize, Errno> {
    const PR_FUTEX_HASH: usize = 78;
    // SAFETY: no pointers.
    unsafe { syscall(libc::SYS_prctl, [PR_FUTEX_HASH, what, slots, 0, 0, 0]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_two_and_more_where_there_are_many_processors() {
        for (processors, slots) in [(1, 256), (2, 256), (64, 256), (65, 512), (300, 2048)] {
            assert_eq!(buckets(processors), slots, "{processors} processors");
        }
    }
}
