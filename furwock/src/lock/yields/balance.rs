//! What a process's yields on its only processor came to, for each kind of waits.
//!
//! Such a yield is of use if what the thread waits for comes meanwhile: that spares a sleep and a
//! wake. How often it does depends on whether the others yield, too: where they sleep, most of
//! them have to be woken first. So there is no telling from single yields. All that wait yield for
//! a while; if that was of use for half of them, they go on so, and if not, they sleep, and try
//! again after a number of waits that doubles each time. (A process that switches to and fro
//! between the two has the worst of both: docs/experiments.md, "Yields before a sleep, on one
//! processor".)
//!
//! The kernel has a thread that yields pay for it. Where another program wants the processor, too,
//! it gets a time slice for the yield, and what the thread waits for comes after milliseconds. So
//! there is a balance besides, of the time that yields have saved and lost, and none is made while
//! it is negative.
//!
//! All of it is advice: values that are lost or mixed up cost time only.

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// What one kind of yields came to.
#[derive(Debug)]
pub(crate) struct Balance {
    saved: AtomicI32,
    /// Waits that make no yield until the next trial.
    left: AtomicU32,
    /// log2 of how many there are after the next trial that fails.
    late: AtomicU32,
    /// Of the window that has begun: how many yields were made, and how many of those that count
    /// were of use.
    made: AtomicU32,
    of_use: AtomicU32,
}

/// So many yields are judged together, by the second half of them: at first others have to wake.
const WINDOW: u32 = 128;

/// A process that seldom waits makes no yield.
const FIRST_WAITS: u32 = 64;
/// log2 of how many waits there are between two trials at least, and at most.
const SOON: u32 = 10;
const LATE: u32 = 16;

impl Balance {
    pub(crate) const fn new() -> Self {
        Self {
            saved: AtomicI32::new(0),
            left: AtomicU32::new(FIRST_WAITS),
            late: AtomicU32::new(SOON),
            made: AtomicU32::new(0),
            of_use: AtomicU32::new(0),
        }
    }

    /// Whether a wait is to yield, which this one counts as.
    pub(super) fn allows(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if left != 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            return false;
        }
        let saved = self.saved.load(Ordering::Relaxed);
        if saved < 0 {
            self.saved.store(saved + 1, Ordering::Relaxed);
        }
        saved >= 0
    }

    /// Notes a yield that took so long: whether it was of use.
    pub(super) fn note_yield(&self, was_of_use: bool, took_ns: u64) {
        let saved = self.saved.load(Ordering::Relaxed);
        self.saved.store(after_yield(saved, was_of_use, took_ns), Ordering::Relaxed);
        let made = self.made.load(Ordering::Relaxed) + 1;
        let mut of_use = self.of_use.load(Ordering::Relaxed);
        if made > WINDOW / 2 {
            of_use += u32::from(was_of_use);
        }
        if made < WINDOW {
            self.made.store(made, Ordering::Relaxed);
            self.of_use.store(of_use, Ordering::Relaxed);
        } else {
            self.judge(of_use);
        }
    }

    /// The window is over.
    fn judge(&self, of_use: u32) {
        let late = self.late.load(Ordering::Relaxed);
        if of_use >= WINDOW / 4 {
            self.late.store(SOON, Ordering::Relaxed);
        } else {
            self.left.store(1 << late, Ordering::Relaxed);
            self.late.store((late + 1).min(LATE), Ordering::Relaxed);
        }
        self.made.store(0, Ordering::Relaxed);
        self.of_use.store(0, Ordering::Relaxed);
    }
}

/// Of what yields have saved, less what they have lost, in eighths of a microsecond.
const ONE_US: i32 = 8;
/// What a lost microsecond counts, since the other thread is late as well.
const LOSS: i32 = 2;
/// No more is saved up: one yield that gives another program a time slice uses it up.
const MOST: i32 = 4_000 * ONE_US;
/// No more is held against yields than one of 10 ms. (What stops a thread for longer would have
/// done so as well had it not yielded.)
const LEAST: i32 = -10_000 * LOSS * ONE_US;
/// A yield that is shorter let the other threads work, and one that isn't another program: a time
/// slice is longer.
const LONG_NS: u64 = 200_000;

/// Whether a yield took so long that another program had a time slice.
pub(super) fn is_long(took_ns: u64) -> bool {
    took_ns >= LONG_NS
}

/// What is saved after a yield. One that was of use saves about a microsecond: a call of the
/// kernel's and a wake. A long one loses the time that it took. After sixteen waits without a yield
/// for each microsecond that was lost, yields are tried again: so losses are small beside what
/// these waits take.
fn after_yield(saved: i32, was_of_use: bool, took_ns: u64) -> i32 {
    let lost = i32::try_from(took_ns / 1_000).unwrap_or(i32::MAX).saturating_mul(-LOSS * ONE_US);
    let change = match (is_long(took_ns), was_of_use) {
        (true, _) => lost,
        (false, true) => ONE_US,
        (false, false) => 0,
    };
    saved.saturating_add(change).clamp(LEAST, MOST)
}

#[cfg(all(test, not(any(loom, shuttle, simulated))))]
mod tests {
    use super::*;

    const SHORT_NS: u64 = 30_000;

    /// How many of so many waits yield, if `comes` says for each yield whether it is of use.
    fn yields(balance: &Balance, waits: u32, mut comes: impl FnMut(u32) -> bool) -> u32 {
        let mut made = 0;
        for _ in 0..waits {
            if balance.allows() {
                made += 1;
                balance.note_yield(comes(made), SHORT_NS);
            }
        }
        made
    }

    #[test]
    fn the_first_waits_make_none() {
        let balance = Balance::new();
        assert_eq!(yields(&balance, FIRST_WAITS, |_| true), 0);
        assert_eq!(yields(&balance, 10_000, |_| true), 10_000);
    }

    #[test]
    fn yields_go_on_where_half_of_them_are_of_use() {
        let balance = Balance::new();
        yields(&balance, FIRST_WAITS, |_| true);
        assert_eq!(yields(&balance, 10_000, |made| made % 2 == 0), 10_000);
        assert!(yields(&balance, 10_000, |made| made % 3 == 0) < 1_000);
    }

    #[test]
    fn what_the_first_of_a_window_come_to_does_not_count() {
        let balance = Balance::new();
        yields(&balance, FIRST_WAITS, |_| true);
        assert_eq!(yields(&balance, WINDOW, |made| made > WINDOW / 2), WINDOW);
        assert_eq!(yields(&balance, WINDOW, |made| made <= WINDOW / 2), WINDOW);
        assert_eq!(yields(&balance, 1 << SOON, |_| true), 0);
    }

    #[test]
    fn trials_in_vain_become_rare_and_one_that_pays_brings_all_back() {
        let balance = Balance::new();
        yields(&balance, 1_000_000, |_| false);
        let made = yields(&balance, 1_000_000, |_| false);
        assert!((10 * WINDOW..20 * WINDOW).contains(&made), "{made} of a million");
        let made = yields(&balance, 1_000_000, |_| true);
        assert!(made > 900_000, "{made} of a million");
        assert_eq!(yields(&balance, 1_000, |_| true), 1_000);
        let made = yields(&balance, 1_000, |_| false);
        assert!(made <= 2 * WINDOW, "{made} of a thousand");
    }

    #[test]
    fn yields_are_made_as_long_as_they_save_more_than_they_lose() {
        let saved = (0..1_000).fold(0, |saved, _| after_yield(saved, true, SHORT_NS));
        assert_eq!(saved, 1_000 * ONE_US);
        assert_eq!(after_yield(saved, true, 500_000), 0);
        assert!(after_yield(saved, true, 501_000) < 0);
        assert!(after_yield(saved, false, 501_000) < 0);
        assert_eq!(after_yield(saved, false, SHORT_NS), saved);
    }

    #[test]
    fn what_is_lost_is_made_up_for_by_waits_that_make_no_yield() {
        let balance = Balance::new();
        yields(&balance, FIRST_WAITS, |_| true);
        assert!(balance.allows());
        balance.note_yield(true, 3_000_000);
        let waits = (0..1_000_000).take_while(|_| !balance.allows()).count();
        assert_eq!(waits, (LOSS * ONE_US * 3_000) as usize);
    }

    #[test]
    fn neither_savings_nor_losses_grow_without_bound() {
        let saved = (0..100_000).fold(0, |saved, _| after_yield(saved, true, 0));
        assert_eq!(saved, MOST);
        assert_eq!(after_yield(LEAST, false, u64::MAX), LEAST);
    }
}
