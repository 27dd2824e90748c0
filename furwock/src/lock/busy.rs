//! Whether the program keeps its processors busy.
//!
//! A thread that is woken on another processor than its waker's runs at once if that idles. If it
//! doesn't, the wake costs an interrupt there, and takes several times as long as one on the
//! waker's own processor. No lock sees how many of the program's threads run; the time that they
//! have used tells.

#[cfg(all(test, not(any(loom, shuttle))))]
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::lot;
use crate::sys::clock::monotonic_ns;
use crate::sys::processor_time::processor_time_ns;

/// How long it is between two looks. The kernel counts a running thread's time at each of its ticks
/// and switches, and ticks are up to 10 ms apart.
const LOOK_EVERY_NS: u64 = 10_000_000;

/// The longest time between two looks: where the kernel may not be asked, and while a thread that
/// looks has lost its processor.
const LONGEST_NS: u64 = 1_000_000_000;

/// The kernel adds up the times of all threads. A look takes at most one part of so many.
const COST: u64 = 100;

/// One part of so many of one processor's time may be missing: other programs take some, and the
/// machine's host.
const MISSING: u64 = 5;

static NEXT_LOOK_NS: AtomicU64 = AtomicU64::new(0);
/// When was the last look, and how much time had been used by then?
static LOOKED_NS: AtomicU64 = AtomicU64::new(0);
static USED_NS: AtomicU64 = AtomicU64::new(0);
static IS_BUSY: AtomicBool = AtomicBool::new(false);
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Whether the program's threads used nearly all the time of its processors between the last two
/// looks, of which this may be one. `false` where it isn't known.
pub(super) fn is_busy() -> bool {
    seen() == Some(true)
}

/// Whether they are known to have left some of it.
pub(super) fn is_idle() -> bool {
    seen() == Some(false)
}

/// Whether they are busy, if that is known.
fn seen() -> Option<bool> {
    #[cfg(all(test, not(any(loom, shuttle))))]
    if let Some(busy) = SUPPOSED.get() {
        return Some(busy);
    }
    let (now, next) = (monotonic_ns(), NEXT_LOOK_NS.load(Ordering::Relaxed));
    // (Until it has looked, it is the only one to look.)
    let claims = |until| {
        NEXT_LOOK_NS.compare_exchange(next, until, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    if is_due(now, next) && claims(now + LONGEST_NS) {
        look(now);
    }
    IS_KNOWN.load(Ordering::Relaxed).then(|| IS_BUSY.load(Ordering::Relaxed))
}

/// (In another namespace the clock may have gone back.)
fn is_due(now: u64, next: u64) -> bool {
    now >= next || next - now > LONGEST_NS
}

fn look(now: u64) {
    let lasted = now.saturating_sub(LOOKED_NS.swap(now, Ordering::Relaxed));
    let Some(used) = processor_time_ns() else {
        return IS_KNOWN.store(false, Ordering::Relaxed);
    };
    let took = monotonic_ns().saturating_sub(now);
    // (A forked child's count begins at zero.)
    let since = used.saturating_sub(USED_NS.swap(used, Ordering::Relaxed));
    IS_BUSY.store(are_all_used(since, lasted, lot::processors()), Ordering::Relaxed);
    IS_KNOWN.store(true, Ordering::Relaxed);
    let pause = took.saturating_mul(COST).clamp(LOOK_EVERY_NS, LONGEST_NS);
    NEXT_LOOK_NS.store(now + pause, Ordering::Relaxed);
}

/// (If more was used than there is, there are more processors than those known.)
fn are_all_used(used_ns: u64, lasted_ns: u64, processors: usize) -> bool {
    let all = lasted_ns.saturating_mul(processors as u64);
    used_ns.abs_diff(all) < lasted_ns / MISSING
}

#[cfg(all(test, not(any(loom, shuttle))))]
std::thread_local! {
    /// What a test supposes for its thread.
    pub(super) static SUPPOSED: Cell<Option<bool>> = const { Cell::new(None) };
}

#[cfg(all(test, not(any(loom, shuttle, miri, simulated))))]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn part_of_one_processors_time_may_be_missing() {
        for processors in [1, 2, 64] {
            let all = 10 * MS * processors as u64;
            assert!(are_all_used(all - MS, 10 * MS, processors));
            assert!(!are_all_used(all - 3 * MS, 10 * MS, processors));
            assert!(!are_all_used(all + 3 * MS, 10 * MS, processors), "there are more of them");
        }
        assert!(!are_all_used(u64::MAX / 2, u64::MAX, usize::MAX), "nothing overflows");
    }

    #[test]
    fn looks_come_when_they_are_due() {
        assert!(is_due(7, 7) && is_due(8, 7));
        assert!(!is_due(6, 7) && !is_due(0, LONGEST_NS));
        assert!(is_due(0, LONGEST_NS + 1), "the clock has gone back");
    }

    #[test]
    fn a_threads_work_counts() {
        let before = processor_time_ns().expect("nothing forbids it here");
        let end = monotonic_ns() + 100 * MS;
        while monotonic_ns() < end {}
        assert!(processor_time_ns().unwrap() > before);
    }
}
