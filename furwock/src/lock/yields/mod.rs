//! Letting the processor's other threads run before a sleep.
//!
//! Where there are more threads than processors, the thread that keeps a waiter out has often lost
//! its own. To sleep leaves the processor to it as well, but costs a wake later on; and if all that
//! wait sleep, one processor idles though threads queue for another: the kernel moves those that
//! have just run after milliseconds only. A waiter that yields keeps its place in the processor's
//! queue. So it does that first, for a while, and sleeps if that was in vain.
//!
//! A bucket keeps what yields came to (`trials`). Yields that let others run cost no more than the
//! sleep that they spare; those that return at once burn the processor's time. Where the latter are
//! in vain again and again, as where sections are long, threads sleep at once.
//!
//! Others yield by rules of their own: a reader that is about to pass sleeping writers
//! (`rwlock/reader.rs`), a waiter that a condvar's signal woke while its sender held the mutex, and
//! that has taken the processor from the sender (`to_holder`); a spinlock's waiter, which asks
//! whether another thread wants the processor (`return_at_once`); and on the only processor one
//! that waits for another's answer (`once`), a lock's spinner (`spinner`), and a thread that takes
//! a lock past waiters that were woken (`past_woken`).

mod balance;
mod once;
mod past_woken;
pub(super) mod share;
mod spinner;

pub(crate) use balance::Balance;
pub(crate) use once::once;
pub(super) use past_woken::past_woken;
pub(super) use spinner::{Spinner, note_steal};

use core::sync::atomic::{AtomicU64, Ordering};

use super::spin::{HOLDER_YIELDS, YIELDS};
use super::trials;
use crate::lot::{self, Key};
use crate::prim::adjustable;
use crate::sys::clock::monotonic_ns;
use crate::sys::sched_yield::{may_call, sched_yield};

/// A waiter begins no further yield after so long: it has no place in the lock's queue meanwhile,
/// and asks for no hand-off.
const MOST_NS: u64 = 10_000_000;

/// The least that processors leave of a waiter's yields, however many they are.
const LEAST: u32 = 25;

/// So many yields tell whether other threads run meanwhile: next to none does if the yields took
/// less than this each, on average. (The looks at the lock in between count as well. Where these
/// are long, or the clock or a system call is dear, waiters don't find out, and yield on.)
const TELLING: u32 = 25;
const ALONE_NS: u64 = 2_000;

/// So many waits in a row that yielded alone, and then slept after all, show that it doesn't pay.
const IN_VAIN: u32 = 4;

/// So many yields in a row to a mutex's holder that took long show that they don't pay.
const LONG_YIELDS: u32 = 2;

/// How often a waiter yields where it does so `yields` times on two processors: fewer times on
/// more, since so many threads look at the lock at once instead of sleeping.
pub(super) fn most(yields: u32) -> u32 {
    shared_by(yields, lot::processors())
}

fn shared_by(yields: u32, processors: usize) -> u32 {
    let share = u64::from(yields) * 2 / processors.max(1) as u64;
    u32::try_from(share).unwrap_or(yields).clamp(LEAST.min(yields), yields)
}

/// The yields of one attempt to take a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yields {
    None,
    Made {
        yields: u32,
        began_ns: u64,
    },
    /// There were enough, they don't pay here, or the waiter has slept.
    Over {
        lasted_ns: u64,
    },
}

impl Yields {
    /// Lets other threads run, `most` times at most, before a waiter for the lock at `key` sleeps.
    /// Returns whether it has, so that the lock is worth another look.
    pub(super) fn go_on(&mut self, key: Key, most: u32) -> bool {
        if cfg!(any(loom, shuttle)) || matches!(self, Yields::Over { .. }) {
            return false;
        }
        let now = monotonic_ns();
        let (yields, began_ns) = match *self {
            Yields::None if pays(key) => (0, now),
            Yields::Made { yields, began_ns } => (yields, began_ns),
            _ => {
                self.end();
                return false;
            }
        };
        let lasted_ns = now.saturating_sub(began_ns);
        let is_alone = is_alone(yields, lasted_ns);
        if !is_alone && !are_enough(yields, most, lasted_ns) && sched_yield() {
            share::note_yield(monotonic_ns().saturating_sub(now));
            *self = Yields::Made { yields: yields + 1, began_ns };
            return true;
        }
        if is_alone {
            trials::learn(&lot::advice(key)[YIELDS], false);
        }
        self.end();
        false
    }

    /// The waiter sleeps, whatever they have come to.
    pub(super) fn end(&mut self) {
        *self = Yields::Over { lasted_ns: self.lasted_ns() };
    }

    /// For how long it has yielded.
    pub(super) fn lasted_ns(self) -> u64 {
        match self {
            Yields::None => 0,
            Yields::Made { began_ns, .. } => monotonic_ns().saturating_sub(began_ns),
            Yields::Over { lasted_ns } => lasted_ns,
        }
    }

    /// The lock at `key` is the caller's, before it has slept.
    pub(super) fn are_rewarded(self, key: Key) {
        if let Yields::Made { .. } = self {
            trials::learn(&lot::advice(key)[YIELDS], true);
        }
    }
}

/// Lets other threads run once, before the caller goes on at the lock at `key`, unless yields were
/// in vain there lately, or go to threads that have no use for a lock. Returns whether it has.
/// Nothing is learnt from it.
pub(super) fn yield_to_others(key: Key) -> bool {
    may_yield()
        && share::was_large()
        && trials::in_vain(&lot::advice(key)[YIELDS]) < IN_VAIN
        && sched_yield()
}

/// Yields to the holder of the mutex at `key`, from which the caller has taken the processor, and
/// then tries to `take` the mutex. Returns whether it has; not, if yields don't pay there.
///
/// A holder that soon sleeps, once it has released the mutex, leaves the processor to the caller,
/// and nothing has to wake it. If the holder goes on for long, a caller that slept would run
/// sooner, since the release would wake it. So the bucket keeps what yields came to: they pay if
/// they take no longer than a spell of spinning, `most_ns`.
pub(super) fn to_holder(key: Key, most_ns: u64, take: impl FnOnce() -> bool) -> bool {
    let learnt = &lot::advice(key)[HOLDER_YIELDS];
    if !may_yield() || !trials::are_due(learnt, LONG_YIELDS) {
        return false;
    }
    let Some((is_taken, took_ns)) = yield_and(take) else { return false };
    // (One that was in vain cost little beside the sleep that follows, if it was short.)
    if is_taken || took_ns >= most_ns {
        trials::learn(learnt, took_ns < most_ns);
    }
    is_taken
}

/// Whether a yield may be made that lets others run.
pub(super) fn may_yield() -> bool {
    !cfg!(any(loom, shuttle)) && may_call() && !lot::are_there_ranks()
}

/// Yields once, and then tries to `take` what the caller waits for. Returns whether it has, and
/// how many nanoseconds the yield took; `None` if it couldn't be made.
pub(super) fn yield_and<T>(take: impl FnOnce() -> T) -> Option<(T, u64)> {
    let began_ns = monotonic_ns();
    if !sched_yield() {
        return None;
    }
    let took_ns = monotonic_ns().saturating_sub(began_ns);
    Some((take(), took_ns))
}

/// Whether a wait on the only processor is to yield, by the `balance` of its kind. Asked last, by a
/// caller that nothing else keeps from it.
fn pays_by(balance: &Balance) -> bool {
    // (A simulation's results may not depend on what another left behind.)
    !cfg!(simulated) && may_yield() && balance.allows()
}

/// Yields once, notes in the `balance` whether it `was_of_use`, and returns that, and whether
/// another program had a time slice; `None` if it couldn't be made.
fn yield_by(balance: &Balance, was_of_use: impl FnOnce() -> bool) -> Option<(bool, bool)> {
    let (was_of_use, took_ns) = yield_and(was_of_use)?;
    balance.note_yield(was_of_use, took_ns);
    Some((was_of_use, balance::is_long(took_ns)))
}

/// Whether a yield returns at once, since no other thread wants the processor. False where none may
/// be made, on the only processor, which a holder wants as well, and for a while after one that
/// took long.
pub(crate) fn return_at_once() -> bool {
    static NEXT_NS: AtomicU64 = AtomicU64::new(0);
    if lot::is_single() || !may_yield() || monotonic_ns() < NEXT_NS.load(Ordering::Relaxed) {
        return false;
    }
    let Some(((), took_ns)) = yield_and(|| ()) else { return false };
    let pause_ns = pause_after(took_ns);
    if pause_ns != 0 {
        NEXT_NS.fetch_max(monotonic_ns().saturating_add(pause_ns), Ordering::Relaxed);
    }
    pause_ns == 0
}

/// How long it is until the next, after a yield that took so long: those that lose time slices take
/// no more than one part of so many of the time. (What stops a thread for long, as a debugger does,
/// has nothing to do with it.)
fn pause_after(took_ns: u64) -> u64 {
    const COST: u64 = 20;
    const MOST: u64 = 1_000_000_000;
    if took_ns < ALONE_NS { 0 } else { took_ns.saturating_mul(COST).min(MOST) }
}

fn are_enough(yields: u32, most: u32, lasted_ns: u64) -> bool {
    yields >= most || lasted_ns >= adjustable!(MOST_NS, YieldTime)
}

/// Whether so many yields in that time show that next to no other thread wants the processor.
fn is_alone(yields: u32, lasted_ns: u64) -> bool {
    yields >= adjustable!(TELLING, TellingYields) && lasted_ns < u64::from(yields) * ALONE_NS
}

/// Whether a waiter for the lock at `key` yields: not where that would let other threads run than
/// those that use locks. Where priorities count, a yield lets no thread run that has a lower one
/// than the caller.
fn pays(key: Key) -> bool {
    !lot::are_there_ranks()
        && trials::are_due(&lot::advice(key)[YIELDS], IN_VAIN)
        && share::is_large()
}

#[cfg(all(test, not(any(loom, shuttle, simulated))))]
mod tests {
    use super::*;
    use crate::lock::spin::with_bucket;
    use crate::prim::atomic::Ordering;

    #[test]
    fn processors_share_the_yields() {
        let shares = [0, 1, 2, 4, 8, 256].map(|processors| shared_by(100, processors));
        assert_eq!(shares, [100, 100, 100, 50, 25, 25]);
        assert_eq!(shared_by(0, 2), 0);
        assert_eq!(shared_by(u32::MAX, 1), u32::MAX);
    }

    #[test]
    fn yields_end_after_so_many_and_after_so_long() {
        assert!(!are_enough(9, 10, MOST_NS - 1));
        assert!(are_enough(10, 10, 0) && are_enough(1, 10, MOST_NS));
    }

    #[test]
    fn yields_that_others_use_are_followed_by_a_pause() {
        assert_eq!(pause_after(ALONE_NS - 1), 0);
        assert!(pause_after(ALONE_NS) >= 10 * ALONE_NS);
        assert!(pause_after(u64::MAX) <= 1_000_000_000);
        assert!(!(lot::is_single() && return_at_once()));
    }

    #[test]
    fn yields_to_a_holder_that_take_long_become_rare() {
        let mutex = 0_u64;
        let key = Key::mutex(core::ptr::from_ref(&mutex).addr());
        let made_of_100 = |most_ns, is_free| {
            let mut made = 0;
            let mut take = || {
                made += 1;
                is_free
            };
            (0..100).for_each(|_| assert!(!to_holder(key, most_ns, &mut take) || is_free));
            made
        };
        // (A test beside it may have a lock in the bucket.)
        let as_expected = || {
            lot::advice(key)[HOLDER_YIELDS].store(0, Ordering::Relaxed);
            made_of_100(u64::MAX, true) == 100
                && made_of_100(0, true) < 10
                && made_of_100(u64::MAX, true) > 50
                && made_of_100(0, false) < 10
        };
        assert!((0..64).any(|_| as_expected()));
    }

    #[test]
    fn a_waiter_yields_and_then_sleeps_once_for_all() {
        share::SUPPOSED.set(Some(true));
        with_bucket(Key::rwlock, YIELDS, |key, _| {
            let mut yields = Yields::None;
            let made = (0..9).take_while(|_| yields.go_on(key, 3)).count();
            // (Other threads may run for long.)
            let is_enough = made == 3 || yields.lasted_ns() >= MOST_NS;
            is_enough && !yields.go_on(key, 3) && yields.lasted_ns() != 0
        });
    }

    #[test]
    fn yields_that_let_no_other_thread_run_end_soon_and_are_in_vain() {
        with_bucket(Key::rwlock, YIELDS, |key, learnt| {
            let mut yields = Yields::Made { yields: TELLING, began_ns: monotonic_ns() };
            !yields.go_on(key, 4 * TELLING) && trials::in_vain(learnt) == 1
        });
        assert!(!is_alone(TELLING - 1, 0) && is_alone(4 * TELLING, 0));
    }

    #[test]
    fn where_yields_would_go_to_other_threads_waiters_sleep_at_once() {
        share::SUPPOSED.set(Some(false));
        with_bucket(Key::rwlock, YIELDS, |key, _| !Yields::None.go_on(key, 3));
        share::SUPPOSED.set(Some(true));
        with_bucket(Key::rwlock, YIELDS, |key, _| Yields::None.go_on(key, 3));
    }

    #[test]
    fn where_yields_are_in_vain_waiters_sleep_at_once() {
        share::SUPPOSED.set(Some(true));
        with_bucket(Key::rwlock, YIELDS, |key, learnt| {
            (0..IN_VAIN).for_each(|_| trials::learn(learnt, false));
            let mut yields = Yields::None;
            let yielded = yields.go_on(key, 3);
            let rewarded = Yields::Made { yields: 1, began_ns: 0 };
            rewarded.are_rewarded(key);
            !yielded && Yields::None.go_on(key, 3)
        });
    }

    #[test]
    fn yields_that_let_others_run_are_not_in_vain() {
        with_bucket(Key::rwlock, YIELDS, |key, learnt| {
            let began_ns = monotonic_ns() - u64::from(TELLING) * ALONE_NS;
            let mut yields = Yields::Made { yields: TELLING, began_ns };
            !yields.go_on(key, TELLING) && trials::in_vain(learnt) == 0
        });
    }
}
