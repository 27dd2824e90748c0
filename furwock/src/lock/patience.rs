//! Whether it pays to look a little longer before a sleep, where a thread waits for what another is
//! to do: each bucket keeps what such waits learnt there.
//!
//! A look that is rewarded saves a sleep and a wake, across processors some 25 us; one that isn't
//! costs its time. So the time is set to a little more than it lately took, halves with each
//! failure, down to none, and now and then a wait looks for as long as a sleep and a wake would
//! take, to see how things are now: two threads that answer each other have to be awake both to
//! find out that they needn't sleep. The more such trials fail, the rarer they become.

use super::spin::LOOKS;
use crate::lot::{self, Key};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;

/// Pauses between two looks, about 0.1 us.
const PAUSES: u32 = 8;
/// The looks of a trial, some 30 us, and the most that are learnt.
const MOST: u32 = 300;
/// Fewer aren't worth the bother.
const LEAST: u32 = 4;

/// log2 of how many waits there are between two trials, after the first that failed, and in the
/// end.
const SOON: u32 = 4;
const LATE: u32 = 12;

/// A bucket's word: how many looks have paid, log2 of the waits between trials, and the waits.
#[derive(Clone, Copy)]
struct Learnt {
    looks: u32,
    interval: u32,
    waits: u32,
}

impl Learnt {
    fn from_word(word: u32) -> Self {
        Self { looks: word & 0xfff, interval: (word >> 12) & 0xf, waits: word >> 16 }
    }

    fn to_word(self) -> u32 {
        self.looks | self.interval << 12 | self.waits << 16
    }

    fn is_trial(self) -> bool {
        self.waits % (1 << self.interval) == 0
    }

    /// After `looks` of which the last was rewarded, or none.
    fn after(self, looks: u32, rewarded: bool) -> Self {
        let (soon, late) = (adjustable!(SOON, TrialsSoon), adjustable!(LATE, TrialsLate));
        let least = adjustable!(LEAST, LeastLooks);
        let (paid, interval) = match (rewarded, self.is_trial()) {
            (true, _) => ((self.looks + 2 * looks + least) / 2, soon),
            (false, true) => (self.looks / 2, (self.interval + 1).clamp(soon, late)),
            (false, false) => (self.looks / 2, self.interval),
        };
        let paid = if paid < least { 0 } else { paid.min(adjustable!(MOST, TrialLooks)) };
        Self { looks: paid, interval, waits: (self.waits + 1) & 0xffff }
    }
}

/// Calls `ready` now and then, as long as that has paid lately at `key`. Returns whether it was.
pub(crate) fn spin_first(key: Key, mut ready: impl FnMut() -> bool) -> bool {
    if cfg!(any(loom, shuttle)) || lot::is_single() {
        return false;
    }
    let word = &lot::advice(key)[LOOKS];
    let learnt = Learnt::from_word(word.load(Ordering::Relaxed));
    // (A rwlock in the same bucket leaves other numbers there.)
    let trial = adjustable!(MOST, TrialLooks);
    let most = if learnt.is_trial() { trial } else { learnt.looks.min(trial) };
    let mut looks = 0;
    let mut is_ready = false;
    while looks < most && !is_ready {
        for _ in 0..adjustable!(PAUSES, LookPauses) {
            spin_loop();
        }
        looks += 1;
        is_ready = ready();
    }
    word.store(learnt.after(looks, is_ready).to_word(), Ordering::Relaxed);
    is_ready
}

/// Whether looks before a sleep have paid lately at `key`.
pub(crate) fn do_looks_pay(key: Key) -> bool {
    Learnt::from_word(lot::advice(key)[LOOKS].load(Ordering::Relaxed)).looks != 0
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Waits, of which a look of `needed` would reward each, or none.
    fn looks_of(waits: u32, needed: Option<u32>, learnt: &mut Learnt) -> u32 {
        (0..waits)
            .map(|_| {
                let most = if learnt.is_trial() { MOST } else { learnt.looks };
                let looks = needed.map_or(most, |needed| needed.min(most));
                let rewarded = needed.is_some_and(|needed| needed <= most);
                *learnt = Learnt::from_word(learnt.after(looks, rewarded).to_word());
                looks
            })
            .sum()
    }

    #[test]
    fn what_never_pays_costs_next_to_nothing_before_long() {
        let mut learnt = Learnt::from_word(0);
        looks_of(20_000, None, &mut learnt);
        let looks = looks_of(100_000, None, &mut learnt);
        assert!(looks < 100_000 / 10, "{looks} looks of 0.1 us in 100,000 waits");
    }

    #[test]
    fn what_pays_is_found_out_and_kept_to() {
        let mut learnt = Learnt::from_word(0);
        looks_of(20_000, None, &mut learnt);
        looks_of(1 << LATE, Some(3), &mut learnt);
        assert_eq!(looks_of(1_000, Some(3), &mut learnt), 3_000, "each wait is rewarded");
    }

    #[test]
    fn it_is_given_up_when_it_no_longer_pays() {
        let mut learnt = Learnt::from_word(0);
        looks_of(100, Some(200), &mut learnt);
        let looks = looks_of(100, None, &mut learnt);
        assert!(looks < 10 * MOST, "{looks}");
    }
}
