//! Naps of a mutex's waiter that is woken in vain.
//!
//! Where holders yield with the lock, or sleep for short, and take it anew as soon as they have
//! released it, each waiter that a release wakes finds it held: a wake, two switches and a sleep
//! for nothing, again and again. A waiter that is woken so, after others before it, goes on to
//! sleep, but by the clock and not in the queue. It keeps the wake that was claimed for it, so that
//! no release wakes another while it naps; when it looks again the lock may be free. Else it naps
//! again, until it asks for the hand-off.
//!
//! If the lock becomes free for good meanwhile, it stays so for the rest of the nap. So a nap is no
//! longer than the waiter has waited already, and 0.8 ms at most; and one that finds the lock free,
//! or that ends far too late, as where timers are coarse or another program wants the processor,
//! ends them all at that lock, until so many wakes in a row have been in vain again; and twice as
//! many, up to 32, where that happens again and again.

use super::spin::VAIN_WAKES;
use crate::lot::{self, Key};
use crate::prim::atomic::Ordering;
use crate::sys::clock::monotonic_ns;
use crate::sys::thread::{nap_for, slot};

/// So many wakes in vain, in a row until now, show that the next ones are in vain, too; four times
/// as many at most, where naps have found the lock free since.
const ENOUGH: u32 = 8;
const MOST_DOUBLINGS: u32 = 2;
/// So many wakes in vain count, at most, and so many with the naps after which the lock was held.
/// By then naps pay.
const MOST_WAKES: u32 = ENOUGH << MOST_DOUBLINGS;
const MOST: u32 = (1 << COUNT_BITS) - 1;

/// Wakes in vain count that come within this time of the one before. If they are rarer, they cost
/// little beside the sections. (A waiter that was woken in vain may be given the lock by the next
/// release, so that two wakes in vain are some three sections apart.)
const FREQUENT_US: u32 = (MOST_NS / 2_000) as u32;

/// The kernel's timers may be late by as much, unless a thread asks for better ones.
const LEAST_NS: u64 = 50_000;
/// A part of what a waiter waits before it asks for the hand-off.
const MOST_NS: u64 = 800_000;
/// A nap that takes so many times as long is far too late.
const LATE: u64 = 4;

/// In a bucket's word: how many wakes in a row were in vain, how often a nap found the lock free
/// after enough of them, and when the last was, in 16 us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Learnt {
    in_vain: u32,
    doublings: u32,
    at: u32,
}

const COUNT_BITS: u32 = 6;
const DOUBLING_BITS: u32 = 2;
const TIME: u32 = u32::MAX >> (COUNT_BITS + DOUBLING_BITS);
const UNIT_US: u32 = 16;

impl Learnt {
    fn from_word(word: u32) -> Self {
        let doublings = (word >> COUNT_BITS) & ((1 << DOUBLING_BITS) - 1);
        Self { in_vain: word & MOST, doublings, at: word >> (COUNT_BITS + DOUBLING_BITS) }
    }

    fn to_word(self) -> u32 {
        self.in_vain | self.doublings << COUNT_BITS | self.at << (COUNT_BITS + DOUBLING_BITS)
    }

    /// After another wake in vain at `now_us`. (The time of the word repeats itself after minutes.)
    fn after_wake(self, now_us: u64) -> Self {
        let now = (now_us / u64::from(UNIT_US)) as u32 & TIME;
        let is_frequent = now.wrapping_sub(self.at) & TIME <= FREQUENT_US / UNIT_US;
        let in_vain = match self.in_vain {
            count if !is_frequent => count.saturating_sub(1),
            count if count < MOST_WAKES => count + 1,
            count => count,
        };
        Self { in_vain, at: now, ..self }
    }

    /// After a nap at whose end the lock was held.
    fn after_nap(self) -> Self {
        let in_vain = (self.in_vain + 1).min(MOST);
        Self { in_vain, doublings: if in_vain == MOST { 0 } else { self.doublings }, ..self }
    }

    /// After a nap at whose end it was free, or that was far too long.
    fn after_loss(self) -> Self {
        Self { in_vain: 0, doublings: (self.doublings + 1).min(MOST_DOUBLINGS), ..self }
    }

    fn has_naps(self) -> bool {
        self.in_vain >= ENOUGH << self.doublings
    }
}

fn change(key: Key, change: impl FnOnce(Learnt) -> Learnt) {
    let word = &lot::advice(key)[VAIN_WAKES];
    let before = word.load(Ordering::Relaxed);
    let after = change(Learnt::from_word(before)).to_word();
    if after != before {
        word.store(after, Ordering::Relaxed);
    }
}

/// Notes how a waiter of the mutex at `key` found it, that was woken, or has napped.
pub(super) fn note(key: Key, is_free: bool, has_napped: bool) {
    change(key, |learnt| match (is_free, has_napped) {
        (false, false) => learnt.after_wake(monotonic_ns() / 1_000),
        (false, true) => learnt.after_nap(),
        (true, false) => Learnt { in_vain: 0, ..learnt },
        (true, true) => learnt.after_loss(),
    });
}

/// Whether waiters of the mutex at `key` nap.
pub(super) fn are_due(key: Key) -> bool {
    Learnt::from_word(lot::advice(key)[VAIN_WAKES].load(Ordering::Relaxed)).has_naps()
}

/// Naps, at the mutex at `key`, of a waiter that is queued since `queued_ns`. False if it ended
/// otherwise than it should, as by a signal handler, or if a handler waits for the thread's call to
/// end (`signals`).
pub(super) fn nap(key: Key, queued_ns: u64) -> bool {
    if slot().has_signals.get() {
        return false;
    }
    let began_ns = monotonic_ns();
    let length_ns = length_ns(began_ns.saturating_sub(queued_ns));
    let was_undisturbed = nap_for(length_ns as u32);
    let took_ns = monotonic_ns().saturating_sub(began_ns);
    if took_ns > LATE * length_ns {
        change(key, Learnt::after_loss);
    }
    was_undisturbed && (length_ns..=LATE * length_ns).contains(&took_ns)
}

/// How long the next nap is of a waiter that has waited for so long, in nanoseconds.
fn length_ns(waited_ns: u64) -> u64 {
    waited_ns.clamp(LEAST_NS, MOST_NS)
}

#[cfg(all(test, not(any(loom, shuttle, simulated))))]
mod tests {
    use super::*;
    use crate::lock::spin::with_bucket;

    fn after(wakes: u32, apart_us: u32) -> Learnt {
        let first = Learnt { in_vain: 0, doublings: 1, at: TIME };
        let began_us = u64::from(TIME) * u64::from(UNIT_US);
        (1..=wakes).fold(first, |learnt, wake| {
            learnt.after_wake(began_us + u64::from(wake) * u64::from(apart_us))
        })
    }

    #[test]
    fn frequent_wakes_in_vain_count() {
        assert_eq!(after(3, 1).in_vain, 3);
        assert_eq!(after(1_000, FREQUENT_US).in_vain, MOST_WAKES);
        assert_eq!(after(1_000, FREQUENT_US + UNIT_US).in_vain, 0);
        let rare = after(1_000, 1).after_wake(u64::from(TIME / 2) * u64::from(UNIT_US));
        assert_eq!(rare.in_vain, MOST_WAKES - 1);
        assert_eq!(Learnt::from_word(rare.to_word()), rare);
    }

    #[test]
    fn naps_that_find_the_lock_free_are_tried_more_rarely_until_they_pay() {
        let wakes_until_due = |mut learnt: Learnt| {
            (1..).find(|wake| {
                learnt = learnt.after_wake(wake * 100);
                learnt.has_naps()
            })
        };
        let mut learnt = Learnt { in_vain: 0, doublings: 0, at: 0 };
        for wakes in [8, 16, 32, 32] {
            assert_eq!(wakes_until_due(learnt), Some(wakes));
            learnt = learnt.after_loss();
        }
        assert_eq!((0..1_000).fold(learnt, |it, _| it.after_wake(0)).after_nap().doublings, 2);
        learnt = (0..MOST).fold(learnt, |learnt, _| learnt.after_nap());
        assert!(learnt.has_naps());
        assert_eq!(wakes_until_due(Learnt { in_vain: 0, ..learnt }), Some(8));
    }

    #[test]
    fn naps_are_due_after_enough_wakes_in_vain_until_the_lock_is_found_free() {
        for has_napped in [false, true] {
            with_bucket(Key::mutex, VAIN_WAKES, |key, _| {
                let mut due = false;
                for _ in 0..100 * ENOUGH {
                    note(key, false, false);
                    due |= are_due(key);
                }
                note(key, true, has_napped);
                due && !are_due(key)
            });
        }
    }

    #[test]
    fn a_nap_is_no_longer_than_the_wait_before_it() {
        for (waited_ns, nap_ns) in [
            (0, LEAST_NS),
            (LEAST_NS + 1, LEAST_NS + 1),
            (MOST_NS - 1, MOST_NS - 1),
            (u64::MAX, MOST_NS),
        ] {
            assert_eq!(length_ns(waited_ns), nap_ns);
        }
    }

    #[test]
    fn a_nap_lasts() {
        with_bucket(Key::mutex, VAIN_WAKES, |key, _| {
            let began_ns = monotonic_ns();
            nap(key, began_ns) && monotonic_ns() - began_ns >= LEAST_NS
        });
    }
}
