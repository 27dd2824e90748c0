//! Whether the program keeps its processors busy.
//!
//! A thread that is woken on another processor than its waker's runs at once if that idles. If it
//! doesn't, the wake costs an interrupt there, and takes several times as long as one on the
//! waker's own processor. No lock sees how many of the program's threads run; the time that they
//! have used tells.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::lot;
use crate::sys::clock::monotonic_ns;
use crate::sys::processor_time::processor_time_ns;

/// How long it is between two looks. The kernel counts a running thread's time at each of its ticks
/// and switches, and ticks are up to 10 ms apart.
const LOOK_EVERY_NS: u64 = 10_000_000;

/// The program keeps its processors busy if it used more than this share of their time, in percent:
/// other programs and the machine's host take some.
const BUSY: u64 = 90;

/// When was the last look, and how much time had been used by then?
static LOOKED_NS: AtomicU64 = AtomicU64::new(0);
static USED_NS: AtomicU64 = AtomicU64::new(0);
static IS_BUSY: AtomicBool = AtomicBool::new(false);

/// Whether the program's threads used nearly all the time of its processors between the last two
/// looks, of which this may be one. `false` where it isn't known.
pub(super) fn is_busy() -> bool {
    if cfg!(any(loom, shuttle)) {
        return false;
    }
    let (now, last) = (monotonic_ns(), LOOKED_NS.load(Ordering::Relaxed));
    let lasted = now.saturating_sub(last);
    let looks = lasted > LOOK_EVERY_NS
        && LOOKED_NS.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if looks {
        let used = processor_time_ns().unwrap_or(0);
        // (A forked child's count begins at zero.)
        let used = used.saturating_sub(USED_NS.swap(used, Ordering::Relaxed));
        IS_BUSY.store(are_all_used(used, lasted, lot::processors()), Ordering::Relaxed);
    }
    IS_BUSY.load(Ordering::Relaxed)
}

fn are_all_used(used_ns: u64, lasted_ns: u64, processors: usize) -> bool {
    let all = lasted_ns.saturating_mul(processors as u64);
    used_ns > all / 100 * BUSY
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn a_few_percent_may_be_missing() {
        let ms = 1_000_000;
        assert!(are_all_used(39 * ms, 10 * ms, 4));
        assert!(!are_all_used(35 * ms, 10 * ms, 4), "half of a processor idles");
        assert!(!are_all_used(10 * ms, 10 * ms, 2));
        assert!(!are_all_used(u64::MAX / 2, u64::MAX, usize::MAX), "nothing overflows");
    }

    #[test]
    fn a_threads_work_counts() {
        let before = processor_time_ns().expect("nothing forbids it here");
        while processor_time_ns().unwrap() == before {}
    }
}
