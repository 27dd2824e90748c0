//! Whether readers that do little gain by sharing a lock, or leave it to one of them.
//!
//! A thread that meets contention again and again at once stands aside (`interval::is_short`). For
//! writers that is right wherever sections are short. Readers may be inside together, and gain by
//! it as soon as their sections last for longer than the word's cache line is on its way; when they
//! met tells nothing of that. So a reader that stands aside looks at the word now and then, while
//! others run: where nearly always somebody is inside, those that come next go in.

use crate::lock::interval::SPELLS;
use crate::lock::spin::SHARING;
use crate::lot::{self, Key};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;

/// What a reader does that had better stand aside, as far as it knows by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Aside,
    /// The same, and it looks at the word meanwhile.
    AsideLooking,
    In,
}

/// What looks have seen of a lock, in its bucket's word: how often nobody was inside, on average,
/// in parts of `WHOLE`, and 1 more; 0 if nothing is known.
#[derive(Clone, Copy)]
struct Learnt(u32);

const WHOLE: u32 = 1 << 16;

/// One occasion of a thread in so many is one for a look: it moves the line of a thread that runs
/// alone again and again, and costs one that had better go in 12 us.
const LOOK_EVERY: u32 = 64;

/// Readers go in where nobody is inside for less than one part of the time in so many. Of one that
/// runs alone, 0.43 to 0.48 of the loads show nobody on average where sections are empty, 0.29
/// where they last for 50 ns, 0.18 for 0.1 us, and 0.04 to 0.13 for 0.2 us (docs/experiments.md,
/// "Readers that had better share").
const FREE_PARTS: u32 = 5;

/// Each look counts for one part of so many: several have to agree that readers had better share.
const WEIGHT: u32 = 4;

/// A look with fewer loads tells nothing: the thread lost its processor.
const LEAST_LOADS: u32 = 8;

impl Learnt {
    fn free(self) -> Option<u32> {
        self.0.checked_sub(1)
    }

    /// Whether readers had better go in; `None` if nothing is known.
    fn pays(self) -> Option<bool> {
        self.free().map(|free| free * adjustable!(FREE_PARTS, SharingParts) < WHOLE)
    }

    /// What a thread does on its occasion of that number.
    fn choose(self, occasion: u32) -> Choice {
        match self.pays() {
            None => Choice::AsideLooking,
            Some(_) if is_for_a_look(occasion) => Choice::AsideLooking,
            Some(true) => Choice::In,
            Some(false) => Choice::Aside,
        }
    }

    fn after(self, look: &Look) -> Self {
        let Some(seen) = look.free() else { return self };
        let free = self.free().unwrap_or(WHOLE / 2);
        Self(free - free / WEIGHT + seen / WEIGHT + 1)
    }
}

/// (Every 16th occasion is that of a plain spell, which is timed.)
fn is_for_a_look(occasion: u32) -> bool {
    occasion % LOOK_EVERY == 4
}

/// The number of this thread's occasion: every other spell is one.
fn occasion() -> u32 {
    let spells = lot::own().map(|thread| thread.notes.counts[SPELLS].load(Ordering::Relaxed));
    spells.unwrap_or_default() / 2
}

/// What a reader at the lock at `key` does on this occasion.
pub(super) fn choose(key: Key) -> Choice {
    let learnt = lot::advice(key)[SHARING].load(Ordering::Relaxed);
    Learnt(learnt).choose(occasion())
}

/// What a reader that stands aside has seen: how many loads showed so many inside, or more.
#[derive(Default)]
pub(super) struct Look {
    loads: [u16; MOST_INSIDE + 1],
}

/// (On machines where so many meet, it doesn't matter how many more there are.)
const MOST_INSIDE: usize = 7;

impl Look {
    /// Another load has shown so many `inside`.
    pub(super) fn add(&mut self, inside: u64) {
        let inside = usize::try_from(inside).unwrap_or(MOST_INSIDE).min(MOST_INSIDE);
        self.loads[inside] = self.loads[inside].saturating_add(1);
    }

    /// How often the one thread that ran alone wasn't inside, in parts of `WHOLE`. `None` if none
    /// came or went, or there are too few loads. (Others may be inside all the time: those that
    /// have lost their processor there.)
    ///
    /// Where several ran, it counts as if none had been inside, and one such look suffices: they
    /// move the line among them as it is, and one more had better not. Once all stand aside but
    /// one, the looks tell.
    fn free(&self) -> Option<u32> {
        let all = self.loads.iter().map(|loads| u32::from(*loads)).sum::<u32>();
        let least = self.loads.iter().position(|loads| *loads != 0)?;
        let [free, busy] =
            [0, 1].map(|more| self.loads.get(least + more).map_or(0, |loads| u32::from(*loads)));
        if all < LEAST_LOADS || free == all {
            return None;
        }
        Some(if free + busy == all { free * WHOLE / all } else { WHOLE })
    }

    /// Notes it for the lock at `key`.
    pub(super) fn note(&self, key: Key) {
        let learnt = &lot::advice(key)[SHARING];
        let Learnt(new) = Learnt(learnt.load(Ordering::Relaxed)).after(self);
        learnt.store(new, Ordering::Relaxed);
    }
}

/// As if looks had shown that they do, or don't, again and again.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn learn_that_readers(share: bool, key: Key) {
    let free = if share { 0 } else { WHOLE / 2 };
    lot::advice(key)[SHARING].store(free + 1, Ordering::Relaxed);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::interval::TIMED_SPELLS;

    /// A look at one thread that is inside in so many of 64 loads, beside others that stay inside.
    fn look(inside: u64, others: u64) -> Look {
        let mut look = Look::default();
        (0..64).for_each(|at| look.add(others + u64::from(at < inside)));
        look
    }

    fn after(learnt: Learnt, look: &Look, looks: u32) -> Learnt {
        (0..looks).fold(learnt, |learnt, _| learnt.after(look))
    }

    #[test]
    fn several_looks_tell_whether_readers_gain_by_sharing() {
        for others in [0, 1, MOST_INSIDE as u64 - 1] {
            let (long, empty) = (look(60, others), look(34, others));
            let once = after(Learnt(0), &long, 1);
            assert_eq!(once.pays(), Some(false), "one is not enough");
            let shared = after(once, &long, 6);
            assert_eq!(shared.pays(), Some(true), "{others} others");
            assert_eq!(after(shared, &empty, 2).pays(), Some(false));
            assert_eq!(after(Learnt(0), &empty, 9).pays(), Some(false));
        }
    }

    #[test]
    fn a_look_at_several_that_run_has_others_stand_aside() {
        let mut crowd = Look::default();
        (0..64).for_each(|at| crowd.add(1 + at % 3));
        let shared = after(Learnt(0), &look(60, 0), 9);
        assert_eq!(after(shared, &crowd, 1).pays(), Some(false));
    }

    #[test]
    fn a_look_that_shows_none_that_runs_tells_nothing() {
        let mut few = Look::default();
        (0..u64::from(LEAST_LOADS) - 1).for_each(|at| few.add(at % 2));
        let nothing = [look(0, 0), look(0, 3), look(64, 0), Look::default(), few];
        for before in [Learnt(0), after(Learnt(0), &look(60, 0), 9)] {
            for look in &nothing {
                assert_eq!(before.after(look).0, before.0);
            }
        }
    }

    #[test]
    fn looks_are_rare_once_something_is_known() {
        for (inside, plain) in [(60, Choice::In), (34, Choice::Aside)] {
            let nothing = Learnt(0);
            let known = after(nothing, &look(inside, 0), 9);
            let mut looks = 0;
            for occasion in 0..10 * LOOK_EVERY {
                assert_eq!(nothing.choose(occasion), Choice::AsideLooking);
                match known.choose(occasion) {
                    Choice::AsideLooking => {
                        looks += 1;
                        let spells = 2 * occasion;
                        assert_ne!(spells % TIMED_SPELLS, 0, "it is another's");
                    }
                    choice => assert_eq!(choice, plain),
                }
            }
            assert_eq!(looks, 10);
        }
    }

    #[test]
    fn an_average_is_no_more_than_all() {
        for mut learnt in [Learnt(0), Learnt(1), Learnt(WHOLE + 1)] {
            for at in 0..900 {
                learnt = learnt.after(&look(at / 300 * 31 + 1, 0));
                assert!(learnt.free().is_some_and(|free| free <= WHOLE));
            }
        }
        let mut long = Look { loads: [u16::MAX; MOST_INSIDE + 1] };
        assert_eq!(long.free(), Some(WHOLE), "several ran");
        long.loads[2..].fill(0);
        assert_eq!(long.free(), Some(WHOLE / 2));
    }
}
