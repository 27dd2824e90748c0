//! The states of a mutex's word. Pure: no atomics, no waiting.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0..=21 | owner | kernel thread id of the holder; 0 when free |
//! | 22 | PARKED | waiters may be queued at the word's address |
//! | 23 | SPIN | a running thread spins for the lock and will look at it again |
//! | 24 | HANDOFF | the holder must give the lock to the queue's first; no thread may steal it |
//! | 25..=31 | wakes | waiters that have been, or are being, chosen, and will look at the lock again |
//!
//! When a bit may be set, and when it may be left out or cleared:
//!
//! | bit | set | cleared |
//! |---|---|---|
//! | PARKED | under the bucket lock, in an RMW that sees the lock held, or that claims a wake for a waiter it chooses | under the bucket lock, when no thread is queued at the address; by waiters, never by an unlocker |
//! | SPIN | by a running thread that sees the lock held and SPIN and HANDOFF clear | by a spinner, in an RMW that takes the lock or sees it held |
//! | wakes | raised by the release that finds PARKED and no SPIN, and must be if it is 0; by a broadcast that wakes some and moves the rest; by a thread whose turn is over, as it queues behind others | lowered by a chosen waiter, in an RMW that takes the lock or sees it held; 0 under the bucket lock when no thread is queued |
//! | HANDOFF | under the bucket lock, by a waiter that queues itself first and sees the lock held | by the holder, as it gives the lock away or finds no waiter |
//!
//! Transitions (what isn't named stays; "mine" is the role that the thread has, see `bits::Role`):
//!
//! | from | to | by | ordering |
//! |---|---|---|---|
//! | free | owner = me, less mine | any thread: steals past the queue | Acquire |
//! | held, no SPIN, no HANDOFF | +SPIN, less mine | a running waiter | Relaxed |
//! | held | +PARKED [+HANDOFF], less mine, less what is stale | a waiter, as it queues | Relaxed |
//! | held, no HANDOFF, another thread queued | +PARKED, wakes + 1 | a newcomer whose turn is over, as it queues, then chooses one (M-11) | Relaxed |
//! | held, PARKED, no SPIN, wakes < ahead, no HANDOFF | free, wakes = ahead | holder, then chooses as many | Release |
//! | held, otherwise, no HANDOFF | free | holder | Release |
//! | free, as expected (M-10) | owner = me | any thread, without a look at the word | Acquire |
//! | held, free as expected | free | holder, without a look at the word | Release |
//! | held, HANDOFF | owner = first waiter, -HANDOFF | holder, under the bucket lock | Release |
//! | held, HANDOFF, no thread queued | free, -HANDOFF | holder, under the bucket lock | Release |
//! | PARKED, no thread queued | -PARKED, wakes = 0 | a waiter that leaves or took the lock, under the bucket lock | Relaxed |
//!
//! Invalid: free with HANDOFF. Free with a thread queued and neither SPIN nor wakes: that is a lost
//! wakeup (ORDERING.md, M-1 to M-4, say why it can't come about).

use crate::lock::bits::{self, Bits, Leaves};
use crate::lock::interval::Short;
use crate::lock::spin::Probing;
use crate::prim::mutant::{self, Mutant};

pub(super) const OWNER: u32 = bits::OWNER as u32;
pub(super) const PARKED: u32 = 1 << 22;
pub(super) const SPIN: u32 = bits::SPIN as u32;
pub(super) const HANDOFF: u32 = bits::HANDOFF as u32;
pub(super) const ONE_WAKE: u32 = 1 << 25;
pub(super) const WAKES: u32 = !(ONE_WAKE - 1);

pub(super) const FREE: u32 = 0;

/// The most wakes that may be on their way at once.
pub(super) const MOST_WAKES: u32 = WAKES / ONE_WAKE;

/// The word as its waiters see it.
pub(super) static BITS: Bits = Bits {
    closed: OWNER as u64,
    promised: HANDOFF as u64,
    parked: PARKED as u64,
    shared: 0,
    queues_as: PARKED as u64,
    wakes: WAKES as u64,
    one_wake: ONE_WAKE as u64,
    // Wakes may have been claimed for a waiter that timed out.
    stale: WAKES as u64,
    cleared_by_last: (PARKED | WAKES) as u64,
    keeps_place: true,
    leaves_place: Leaves::Always,
    takes_place: |_| true,
    keeps_place_while: 0,
    token: 0,
    may_be_surplus: false,
    probing: Probing {
        // About twice what a sleep and a wake across processors take: docs/experiments.md measured
        // 10 to 15 us from wake to run.
        spin_ns: 25_000,
        // Sections of 50 and 100 us gain from it. A spell in vain ends all spinning for that
        // holder, so that it costs one thread's 100 us.
        longer_ns: 75_000,
        // No gain: where spells are in vain by turns, holders yield or sleep.
        is_cut_short: false,
        #[cfg(simulated)]
        spin: crate::prim::constant::Constant::MutexSpin,
        #[cfg(simulated)]
        longer: crate::prim::constant::Constant::MutexSpinsLonger,
        pauses: 1,
        most_pauses: 32,
        unseen: 256,
        // (None shares it.)
        unseen_by_sharers: 256,
        short: Short { looks: 8, lines: 8 },
        aside_ns: 12_500,
        // docs/experiments.md, "Yields before a sleep": no gain.
        yields: 0,
    },
    announce: |word| word,
    take: |word, tid| word | tid as u64,
    seize: |word, tid| Some((word & !bits::OWNER) | tid as u64),
    // (A spinner that is alive all the same sets its bit again.)
    in_child: |word, _| word & !bits::SPIN,
};

#[inline]
pub(super) const fn owner(word: u32) -> u32 {
    word & OWNER
}

#[inline]
pub(super) const fn is_free(word: u32) -> bool {
    owner(word) == 0
}

/// Whether a newcomer that spins for a lock that is held may leave the word as it is: a release
/// finds no waiter to wake, or one is on its way; and the lock isn't promised to another.
#[inline]
pub(super) const fn may_stay_unseen(word: u32) -> bool {
    word & HANDOFF == 0 && (word & PARKED == 0 || word & (WAKES | SPIN) != 0)
}

/// Whether waiters that were woken are all that are on their way to a lock: no thread spins, or has
/// it promised.
#[inline]
pub(super) const fn are_woken_alone(word: u32) -> bool {
    word & WAKES != 0 && word & (SPIN | HANDOFF) == 0
}

/// What a release leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// It wasn't held: nothing to do.
    NotHeld,
    /// The lock must be given to the first waiter, under the bucket lock.
    HandOff,
    /// This word, and so many waiters to choose, whose wakes it claims.
    To { word: u32, wakes: u32 },
}

/// What a thread that took a free lock, whose word was `seen`, expects of a free word from then on
/// (M-10): this word, as long as a release that leaves it wakes no waiter, because `ahead` (at
/// least 1) have been woken already. Spinners change it too soon for that.
#[inline]
pub(super) fn expected_after(seen: u32, ahead: u32) -> u32 {
    if seen / ONE_WAKE < ahead || seen & (SPIN | HANDOFF) != 0 {
        return 0;
    }
    if mutant::active(Mutant::WakeNotExpected) { seen & !WAKES } else { seen }
}

/// The release of `word`, with `ahead` (at least 1) wakes to be on their way after it.
#[inline]
pub(super) const fn release(word: u32, ahead: u32) -> Release {
    if is_free(word) {
        return Release::NotHeld;
    }
    if word & HANDOFF != 0 {
        return Release::HandOff;
    }
    let free = word & !OWNER;
    let on_their_way = free / ONE_WAKE;
    if free & PARKED == 0 || free & SPIN != 0 || on_their_way >= ahead {
        return Release::To { word: free, wakes: 0 };
    }
    let wakes = ahead - on_their_way;
    Release::To { word: free + wakes * ONE_WAKE, wakes }
}

/// Whether a release asks how many wakes should be on their way: it wouldn't otherwise wake any
/// waiter.
#[inline]
pub(super) const fn asks_how_far_ahead(word: u32) -> bool {
    word & (PARKED | SPIN | HANDOFF) == PARKED
}

/// Whether a release wakes a waiter, however many wakes should be on their way.
#[inline]
pub(super) const fn wakes_some(word: u32) -> bool {
    asks_how_far_ahead(word) && word & WAKES == 0
}

/// The word of a free lock for whose waiters `wakes` are claimed, and others moved to its queue.
#[inline]
pub(super) const fn expecting(word: u32, wakes: u32) -> u32 {
    let room = MOST_WAKES - word / ONE_WAKE;
    let wakes = if wakes < room { wakes } else { room };
    (word | PARKED) + wakes * ONE_WAKE
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
