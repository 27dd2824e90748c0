//! Two threads that answer each other on one processor.
//!
//! A thread that waits for another's answer sleeps, and the other's release wakes it: two calls of
//! the kernel. Where both share the only processor, a waiter may yield instead. Then the other
//! runs, answers, waits in its turn and yields: one call each, and nobody has to be woken.
//!
//! The kernel has a thread that yields pay for it. Where another program wants the processor, too,
//! it gets a time slice for the yield, and the answer comes after milliseconds. So the process
//! keeps a balance of what its yields have saved and lost, in time, and makes none while it has
//! lost more. Nor do threads yield where three of them wait by turns: one that yields goes to the
//! end of the processor's queue, and those before it may find nothing to do.
//!
//! All of it is advice: values that are lost or mixed up cost time only.

use crate::lock::yields::{may_yield, yield_and};
use crate::lot;
use crate::prim::atomic::Ordering;
use core::sync::atomic::{AtomicI32, AtomicUsize};

/// The two threads that were the last to wait for a permit: which, and which before it; 0 if none
/// was.
static LAST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

static BALANCE: AtomicI32 = AtomicI32::new(0);

/// Yields once, before the caller sleeps for want of a permit, if that lately paid, and if it and
/// one other thread wait for permits by turns. Then it tries to `take` one. Returns whether it has.
///
/// Not for a wait with a deadline: a yield may last longer.
pub(super) fn yield_to_other(take: impl FnOnce() -> bool) -> bool {
    // (A simulation's results may not depend on what another left behind.)
    if cfg!(any(loom, shuttle, simulated)) || !lot::is_single() {
        return false;
    }
    let Some(this) = lot::known_own() else { return false };
    let waited = [&LAST[0], &LAST[1]].map(|thread| thread.load(Ordering::Relaxed));
    let (company, now) = after_wait(waited, core::ptr::from_ref(this).addr());
    LAST.iter().zip(now).for_each(|(last, now)| last.store(now, Ordering::Relaxed));
    match company {
        Company::Unknown => false,
        Company::Crowd => {
            update(Balance::after_crowd);
            false
        }
        Company::Pair if !balance().allows() => {
            update(Balance::after_no_yield);
            false
        }
        Company::Pair => {
            let made = if may_yield() { yield_and(take) } else { None };
            made.is_some_and(|(is_taken, took_ns)| {
                update(|balance| balance.after_yield(is_taken, took_ns));
                is_taken
            })
        }
    }
}

fn balance() -> Balance {
    Balance(BALANCE.load(Ordering::Relaxed))
}

fn update(change: impl FnOnce(Balance) -> Balance) {
    BALANCE.store(change(balance()).0, Ordering::Relaxed);
}

/// Who waits for permits, besides the thread that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// That isn't known, or there is nobody: the thread itself waited last.
    Unknown,
    /// One other thread, by turns.
    Pair,
    /// More than one.
    Crowd,
}

/// What `this` thread learns from who waited last, and who has done so from now on.
fn after_wait([last, before]: [usize; 2], this: usize) -> (Company, [usize; 2]) {
    match before {
        _ if this == last => (Company::Unknown, [last, before]),
        0 => (Company::Unknown, [this, last]),
        _ if this == before => (Company::Pair, [this, last]),
        _ => (Company::Crowd, [this, last]),
    }
}

/// What yields have saved, less what they have lost, in eighths of a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Balance(i32);

const ONE_US: i32 = 8;
/// What a lost microsecond counts, since the other thread is late as well.
const LOSS: i32 = 2;
/// No more is saved up: one yield that gives another program a time slice uses it up.
const MOST: i32 = 4_000 * ONE_US;
/// No more is held against yields than one of 10 ms. (What stops a thread for longer would have
/// done so as well had it not yielded.)
const LEAST: i32 = -10_000 * LOSS * ONE_US;
/// A yield that is shorter let the other thread work, and one that isn't another program: a time
/// slice is longer.
const LONG_NS: u64 = 200_000;
/// Where there was a crowd, at least so many waits of a pair make no yield.
const AFTER_CROWD: i32 = 1024;

impl Balance {
    fn allows(self) -> bool {
        self.0 >= 0
    }

    /// A yield that was answered saves about a microsecond: a call of the kernel's and a wake. One
    /// in vain loses as much. A long one loses the time that it took.
    fn after_yield(self, is_answered: bool, took_ns: u64) -> Self {
        let us = if took_ns < LONG_NS { 1 } else { took_ns / 1_000 };
        let lost = i32::try_from(us).unwrap_or(i32::MAX).saturating_mul(-LOSS * ONE_US);
        let change = if is_answered && took_ns < LONG_NS { ONE_US } else { lost };
        Self(self.0.saturating_add(change).clamp(LEAST, MOST))
    }

    /// After sixteen waits without a yield for each microsecond that was lost, yields are tried
    /// again: so losses are small beside what these waits take.
    fn after_no_yield(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    fn after_crowd(self) -> Self {
        Self(self.0.min(-AFTER_CROWD))
    }
}

#[cfg(all(test, not(any(loom, shuttle, simulated))))]
mod tests {
    use super::*;

    fn companies<const N: usize>(threads: [usize; N]) -> [Company; N] {
        let mut waited = [0, 0];
        threads.map(|this| {
            let (company, now) = after_wait(waited, this);
            waited = now;
            company
        })
    }

    #[test]
    fn two_threads_are_a_pair_and_a_third_makes_a_crowd() {
        use Company::{Crowd, Pair, Unknown};
        assert_eq!(companies([1, 2, 1, 2, 2, 1]), [Unknown, Unknown, Pair, Pair, Unknown, Pair]);
        assert_eq!(companies([1, 2, 3, 2, 3, 1]), [Unknown, Unknown, Crowd, Pair, Pair, Crowd]);
        assert_eq!(companies([1, 2, 3, 1, 2, 3])[2..], [Crowd; 4]);
        assert_eq!(companies([1, 1, 1]), [Unknown; 3]);
    }

    #[test]
    fn yields_are_made_as_long_as_they_save_more_than_they_lose() {
        let saved = (0..1_000).fold(Balance(0), |balance, _| balance.after_yield(true, 30_000));
        assert_eq!(saved, Balance(1_000 * ONE_US));
        assert!(saved.after_yield(true, 500_000).allows());
        assert!(!saved.after_yield(true, 501_000).allows());
        assert!(!saved.after_yield(false, 501_000).allows());
        assert_eq!(saved.after_yield(false, 30_000), Balance((1_000 - LOSS) * ONE_US));
        assert!(!Balance(0).after_yield(false, 900).allows());
    }

    #[test]
    fn what_is_lost_is_made_up_for_by_waits_that_make_no_yield() {
        let mut balance = Balance(0).after_yield(true, 3_000_000);
        let mut waits = 0;
        while !balance.allows() {
            balance = balance.after_no_yield();
            waits += 1;
        }
        assert_eq!(waits, LOSS * ONE_US * 3_000);
    }

    #[test]
    fn neither_savings_nor_losses_grow_without_bound() {
        let saved = (0..10_000).fold(Balance(0), |balance, _| balance.after_yield(true, 0));
        assert_eq!(saved, Balance(MOST));
        let lost = Balance(LEAST).after_yield(false, u64::MAX);
        assert_eq!(lost, Balance(LEAST));
    }

    #[test]
    fn in_a_crowd_threads_sleep() {
        let balance = Balance(MOST).after_crowd();
        assert!(!balance.allows() && balance.after_crowd() == balance);
        assert!((0..AFTER_CROWD).fold(balance, |balance, _| balance.after_no_yield()).allows());
        assert_eq!(Balance(LEAST).after_crowd(), Balance(LEAST));
    }
}
