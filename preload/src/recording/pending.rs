//! Waits and holds that a thread has summed up, for each lock and stack, in its own entry. It hands
//! them in to the lock's where that keeps no other thread waiting: before a wait, after a release.

use super::clock;
use super::tables::{self, Times, Wait, add_to_spell};
use super::thread::Me;
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use furwock_record::PENDING;

/// What a thread keeps for its sums.
pub(super) struct Own {
    /// What each is of: 0 if it is free.
    of: [Cell<u64>; PENDING],
    /// Where the next goes if none is free.
    next: Cell<usize>,
    /// When they were handed in.
    handed_in: Cell<u64>,
    /// One has a wait that is worth an event of its own.
    is_due: Cell<bool>,
}

/// One wait or hold.
#[derive(Clone, Copy)]
pub(super) struct One {
    pub(super) lock: u32,
    pub(super) stack: u32,
    pub(super) is_hold: bool,
    pub(super) began: u64,
    pub(super) took: u64,
    /// Of a wait: how it ended, how often the thread slept, which thread held the lock.
    pub(super) got: u32,
    pub(super) sleeps: u32,
    pub(super) holder: u32,
}

/// A wait of so many microseconds leaves an event by itself.
const EVENT_US: u64 = 20;
/// A shorter one leaves none.
const LEAST_EVENT_US: u64 = 1;
/// Sums are handed in after so many.
const PATIENCE_US: u64 = 1_000;

/// Whether a wait leaves an event by itself.
pub(super) fn is_event(took: u64) -> bool {
    took >= clock::microseconds(EVENT_US)
}

fn add(to: &AtomicU64, value: u64) {
    to.store(to.load(Ordering::Relaxed) + value, Ordering::Relaxed);
}

fn add_32(to: &AtomicU32, value: u32) {
    to.store(to.load(Ordering::Relaxed).wrapping_add(value), Ordering::Relaxed);
}

/// Adds one to the thread's sums.
pub(super) fn enter(me: Me, one: &One) {
    let own = &me.own.pending;
    let key = u64::from(one.lock + 1) << 32 | u64::from(one.stack) << 1 | u64::from(one.is_hold);
    let at = match own.of.iter().position(|of| of.get() == key) {
        Some(at) => at,
        None => {
            let at = own.of.iter().position(|of| of.get() == 0).unwrap_or_else(|| {
                let at = own.next.get();
                own.next.set((at + 1) % PENDING);
                at
            });
            hand_in(me, at);
            own.of[at].set(key);
            let sum = &me.thread.pending[at];
            sum.stack.store(one.stack, Ordering::Relaxed);
            sum.holds.store(one.is_hold.into(), Ordering::Relaxed);
            at
        }
    };
    let sum = &me.thread.pending[at];
    add(&sum.count, 1);
    add(&sum.total, one.took);
    if one.took >= sum.longest.load(Ordering::Relaxed) {
        sum.longest.store(one.took, Ordering::Relaxed);
        sum.longest_began.store(one.began, Ordering::Relaxed);
        sum.longest_got.store(one.got, Ordering::Relaxed);
        sum.holder.store(one.holder, Ordering::Relaxed);
    }
    if !one.is_hold {
        add_32(&sum.got[one.got as usize], 1);
        add(&sum.sleeps, one.sleeps.into());
        if is_event(one.took) {
            own.is_due.set(true);
        }
    }
    sum.lock.store(one.lock + 1, Ordering::Release);
}

/// Hands in what has been there for long enough.
#[inline]
pub(super) fn hand_in_if_due(me: Me, now: u64) {
    let own = &me.own.pending;
    let since = now.wrapping_sub(own.handed_in.get());
    if own.is_due.get() || since >= clock::microseconds(PATIENCE_US) {
        own.handed_in.set(now);
        hand_in_all(me);
    }
}

/// Hands in everything.
#[cold]
pub(super) fn hand_in_all(me: Me) {
    me.own.pending.is_due.set(false);
    (0..PENDING).for_each(|at| hand_in(me, at));
}

/// Hands in one sum. It is free first: a program that is killed in between loses it, and doesn't
/// have it twice.
fn hand_in(me: Me, at: usize) {
    let sum = &me.thread.pending[at];
    me.own.pending.of[at].set(0);
    let Some(index) = sum.lock.swap(0, Ordering::AcqRel).checked_sub(1) else { return };
    let take = |from: &AtomicU64| {
        let value = from.load(Ordering::Relaxed);
        from.store(0, Ordering::Relaxed);
        value
    };
    let stack = sum.stack.load(Ordering::Relaxed);
    let holds = sum.holds.load(Ordering::Relaxed);
    let thread = me.thread.tid.load(Ordering::Relaxed);
    let times = Times {
        count: take(&sum.count),
        total: take(&sum.total),
        longest: take(&sum.longest),
        longest_began: take(&sum.longest_began),
        stack,
        thread,
    };
    let sleeps = take(&sum.sleeps);
    let got = sum.got.each_ref().map(|got| {
        let count = got.load(Ordering::Relaxed);
        got.store(0, Ordering::Relaxed);
        count
    });
    let Some(lock) = tables::lock(index) else { return };
    if holds != 0 {
        add_to_spell(&lock.hold, &times);
    } else {
        let holder = sum.holder.load(Ordering::Relaxed);
        lock.contended.fetch_add(times.count, Ordering::Relaxed);
        lock.sleeps.fetch_add(sleeps, Ordering::Relaxed);
        let to = lock.got.iter().chain([&lock.timeouts]);
        for (to, &count) in to.zip(&got).filter(|(_, count)| **count != 0) {
            to.fetch_add(count.into(), Ordering::Relaxed);
        }
        lock.holder.store(holder, Ordering::Relaxed);
        add_to_spell(&lock.wait, &times);
        if times.longest >= clock::microseconds(LEAST_EVENT_US) {
            tables::enter_event(&Wait {
                began: times.longest_began,
                took: times.longest,
                lock: index,
                stack,
                thread,
                holder,
                got: sum.longest_got.load(Ordering::Relaxed),
            });
        }
    }
    tables::add_to_site(index, stack, holds, times.count, times.total, times.longest);
}
