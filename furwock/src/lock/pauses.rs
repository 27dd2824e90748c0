//! How many of the processor's pauses take a given time: one takes some 10 ns on one processor, 25
//! on another, and 45 on a third.

use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;
// (Core's: it is no part of an algorithm.)
use core::sync::atomic::AtomicU32;

/// What a pause takes where it can't be measured, in picoseconds.
const USUAL_PS: u32 = 12_500;

/// What a look at the clock takes at least, in nanoseconds.
const CLOCK_NS: u64 = 25;

/// How many pauses take so many nanoseconds, at least one. The first call of a process finds out,
/// which takes some microseconds, with a coarse clock some tens.
pub(super) fn pauses_in(ns: u32) -> u32 {
    pauses_of(ns, pause_ps())
}

fn pauses_of(ns: u32, pause_ps: u32) -> u32 {
    let pauses = u64::from(ns) * 1000 / u64::from(pause_ps);
    u32::try_from(pauses).unwrap_or(u32::MAX).max(1)
}

fn pause_ps() -> u32 {
    /// Measured once in a process; 0 until then.
    static PAUSE_PS: AtomicU32 = AtomicU32::new(0);
    match PAUSE_PS.load(Ordering::Relaxed) {
        0 => {
            let measured = measured_ps(|pauses| {
                let began = monotonic_ns();
                (0..pauses).for_each(|_| spin_loop());
                monotonic_ns().saturating_sub(began)
            });
            PAUSE_PS.store(measured, Ordering::Relaxed);
            measured
        }
        measured => measured,
    }
}

/// What a pause takes in picoseconds, 1 ns at least. `time(n)` is what n of them take with a look
/// at the clock.
#[cold]
fn measured_ps(time: impl Fn(u32) -> u64) -> u32 {
    // The shortest of three, since an interrupt makes one longer.
    let shortest = |pauses| time(pauses).min(time(pauses)).min(time(pauses));
    let clock = shortest(0);
    let timed = |pauses| (pauses, shortest(pauses).saturating_sub(clock));
    // (The clock may be coarse, and a look at it slow.)
    let is_enough = |took| took > 4 * clock.max(CLOCK_NS);
    let enough = [32, 128, 512].into_iter().map(timed).find(|(_, took)| is_enough(*took));
    let Some((pauses, took)) = enough else { return USUAL_PS };
    u32::try_from(took.saturating_mul(1000) / u64::from(pauses)).unwrap_or(u32::MAX).max(1000)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_pause_takes_what_is_measured() {
        // (What a look at the clock takes, the clock's ticks, what a pause takes.)
        let measured = |clock: u64, tick: u64, pause: u64| {
            measured_ps(|pauses| (clock + u64::from(pauses) * pause) / tick * tick)
        };
        assert_eq!(measured(25, 1, 10), 10_000);
        assert_eq!(measured(25, 1, 1), 1_000);
        assert_eq!(measured(25, 1, 60), 60_000);
        assert_eq!(measured(25, 1, 1_500), 1_500_000);
        assert_eq!(measured(1_000, 1, 10), 10_000);
        let coarse = measured(20, 1_000, 40);
        assert!((25_000..50_000).contains(&coarse), "{coarse}");
        // Nothing can be measured.
        assert_eq!(measured(20, 1_000_000, 40), USUAL_PS);
        assert_eq!(measured(20, 1, 0), USUAL_PS);
    }

    #[test]
    fn pauses_are_as_many_as_take_the_time_and_one_at_least() {
        assert_eq!(pauses_of(100, 12_500), 8);
        assert_eq!(pauses_of(100, 60_000), 1);
        assert_eq!(pauses_of(100, 1_500_000), 1);
        assert_eq!(pauses_of(0, 10_000), 1);
        assert_eq!(pauses_of(1_000, 1_000), 1_000);
        assert_eq!(pauses_of(u32::MAX, 1_000), u32::MAX);
        assert!(pauses_in(1_000_000) > pauses_in(100));
    }
}
