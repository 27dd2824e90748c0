//! Whether it pays to look a little longer before a sleep, where a thread waits for what another is
//! to do: each bucket keeps what such waits learnt there.
//!
//! A look that is rewarded saves a sleep and a wake, across processors some 30 us; one that isn't
//! costs its time. So the time is set to a little more than it lately took, halves with each
//! failure, down to none, and now and then a wait looks for as long as a sleep and a wake would
//! take, to see how things are now: two threads that answer each other have to be awake both to
//! find out that they needn't sleep. The more such trials fail, the rarer they become; each reward
//! within 1 us makes them more frequent, until each wait is one. Where rewards come later, trials
//! stay rare, since they would take more of the processor's time than sleeps; and where others
//! sleep, too, since all would look at once, and pull the word from those that work.
//!
//! A look that was rewarded has saved nothing if its thread sleeps all the same, for something
//! else, and goes on no later than it would have with the one sleep: it would have found that free.
//! Python's threads need the interpreter's lock for all that they do with a lock that they waited
//! for, and its holder releases that one first. Such a look counts as one that failed, as soon as
//! its thread looks again.

use super::pauses::pauses_in;
use super::spin::{LEARNT_BEFORE, LOOKED_AT, LOOKS, REWARDED};
use crate::lot::{self, Key, Notes};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;

/// How long a thread pauses between two looks, in nanoseconds.
const LOOK_NS: u32 = 100;
/// The looks of a trial, and the most that are learnt: 30 us.
const MOST: u32 = 300;
/// Fewer aren't worth the bother.
const LEAST: u32 = 4;

/// log2 of how many waits there are between two trials: at the least where others sleep, too, and
/// in the end. Where a thread waits alone, a quick reward sets less than the first, and the next
/// ones halve the number.
const SOON: u32 = 4;
const LATE: u32 = 12;
/// A reward within this share of a trial's looks, 1 us, took less of the processor's time than a
/// sleep and a wake would have.
const QUICK_SHARE: u32 = 30;

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

    /// After `looks`, of which the last was rewarded, or none, of a thread that waits alone or not.
    fn after(self, is_alone: bool, looks: u32, rewarded: bool) -> Self {
        let (soon, late) = (adjustable!(SOON, TrialsSoon), adjustable!(LATE, TrialsLate));
        let least = adjustable!(LEAST, LeastLooks);
        let is_quick = looks <= adjustable!(MOST, TrialLooks) / QUICK_SHARE;
        let soonest = if is_alone { 0 } else { soon };
        let interval = match (rewarded, self.is_trial()) {
            (true, _) if is_alone && is_quick => self.interval.min(soon).saturating_sub(1),
            (true, _) => soon,
            (false, true) => (self.interval + 1).min(late).max(soonest),
            (false, false) => self.interval.max(soonest),
        };
        let paid = if rewarded { self.looks + 2 * looks + least } else { self.looks } / 2;
        let paid = if paid < least { 0 } else { paid.min(adjustable!(MOST, TrialLooks)) };
        Self { looks: paid, interval, waits: (self.waits + 1) & 0xffff }
    }

    /// What it would be had a look failed before which so much had been learnt: no more hopeful
    /// than it is, since others may have learnt of failures meanwhile.
    fn without(self, before: Self) -> Self {
        let failed = before.after(true, 0, false);
        let interval = self.interval.max(failed.interval);
        Self { looks: self.looks.min(failed.looks), interval, waits: self.waits }
    }
}

/// Calls `ready` now and then, as long as that has paid lately at `key`. Returns whether it was.
///
/// `is_alone` is asked whether no other thread waits for the same, as far as is known: after the
/// looks, since it may load a word that another thread is working on.
pub(crate) fn spin_first(
    key: Key,
    mut ready: impl FnMut() -> bool,
    is_alone: impl FnOnce() -> bool,
) -> bool {
    if cfg!(any(loom, shuttle)) || lot::is_single() {
        return false;
    }
    // (A thread that has never slept has nothing to look back on.)
    let notes = lot::known_own().map(|thread| &thread.notes);
    notes.inspect(|notes| look_back(notes));
    let word = &lot::advice(key)[LOOKS];
    let before = word.load(Ordering::Relaxed);
    let learnt = Learnt::from_word(before);
    // (A rwlock in the same bucket leaves other numbers there.)
    let trial = adjustable!(MOST, TrialLooks);
    let most = if learnt.is_trial() { trial } else { learnt.looks.min(trial) };
    let pauses = if most == 0 { 0 } else { pauses_in(adjustable!(LOOK_NS, LookTime)) };
    let mut looks = 0;
    let mut is_ready = false;
    while looks < most && !is_ready {
        for _ in 0..pauses {
            spin_loop();
        }
        looks += 1;
        is_ready = ready();
    }
    let is_alone = looks == 0 || is_alone();
    word.store(learnt.after(is_alone, looks, is_ready).to_word(), Ordering::Relaxed);
    if let Some(Notes { times, counts, woke_at }) = notes.filter(|_| is_ready) {
        times[LOOKED_AT].store(key.to_bits(), Ordering::Relaxed);
        counts[LEARNT_BEFORE].store(before, Ordering::Relaxed);
        woke_at.store(0, Ordering::Relaxed);
        times[REWARDED].store(monotonic_ns(), Ordering::Relaxed);
    }
    is_ready
}

/// Learns that the look that was rewarded last has failed after all, if it has.
fn look_back(notes: &Notes) {
    let rewarded_at = notes.times[REWARDED].load(Ordering::Relaxed);
    if rewarded_at == 0 {
        return;
    }
    // The next sleep belongs to the look that begins now.
    notes.times[REWARDED].store(0, Ordering::Relaxed);
    if has_saved_none(rewarded_at, notes.woke_at.load(Ordering::Relaxed)) {
        let key = Key::from_bits(notes.times[LOOKED_AT].load(Ordering::Relaxed));
        let before = Learnt::from_word(notes.counts[LEARNT_BEFORE].load(Ordering::Relaxed));
        let word = &lot::advice(key)[LOOKS];
        let learnt = Learnt::from_word(word.load(Ordering::Relaxed));
        word.store(learnt.without(before).to_word(), Ordering::Relaxed);
    }
}

/// Whether a look that was rewarded saved no sleep to a thread that came out of its next at
/// `woke_at` (0 if it hasn't slept).
///
/// Without the look, a wake would have let the thread go on as much later than `rewarded_at` as it
/// takes to be woken. What lets it go on at `woke_at` came as much before that. If that was the
/// sooner of the two, one sleep would have served for both.
fn has_saved_none(rewarded_at: u64, woke_at: u64) -> bool {
    woke_at != 0 && woke_at.saturating_sub(rewarded_at) < 2 * trial_ns()
}

/// How long the looks of a trial take: as long as a sleep and a wake.
fn trial_ns() -> u64 {
    u64::from(adjustable!(MOST, TrialLooks)) * u64::from(adjustable!(LOOK_NS, LookTime))
}

/// Whether looks before a sleep have paid lately at `key`.
pub(crate) fn do_looks_pay(key: Key) -> bool {
    Learnt::from_word(lot::advice(key)[LOOKS].load(Ordering::Relaxed)).looks != 0
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Waits, of which a look of `needed` would reward each, or none.
    fn looks_of(is_alone: bool, waits: u32, needed: Option<u32>, learnt: &mut Learnt) -> u32 {
        (0..waits)
            .map(|_| {
                let most = if learnt.is_trial() { MOST } else { learnt.looks };
                let looks = needed.map_or(most, |needed| needed.min(most));
                let rewarded = needed.is_some_and(|needed| needed <= most);
                *learnt = Learnt::from_word(learnt.after(is_alone, looks, rewarded).to_word());
                looks
            })
            .sum()
    }

    #[test]
    fn what_never_pays_costs_next_to_nothing_before_long() {
        for is_alone in [true, false] {
            let mut learnt = Learnt::from_word(0);
            looks_of(is_alone, 20_000, None, &mut learnt);
            let looks = looks_of(is_alone, 100_000, None, &mut learnt);
            assert!(looks < 100_000 / 10, "{looks} looks of 0.1 us in 100,000 waits");
        }
    }

    #[test]
    fn what_pays_is_found_out_and_kept_to() {
        for is_alone in [true, false] {
            let mut learnt = Learnt::from_word(0);
            looks_of(is_alone, 20_000, None, &mut learnt);
            looks_of(is_alone, 1 << LATE, Some(3), &mut learnt);
            assert_eq!(looks_of(is_alone, 1_000, Some(3), &mut learnt), 3_000, "each is rewarded");
        }
    }

    #[test]
    fn it_is_given_up_when_it_no_longer_pays() {
        for is_alone in [true, false] {
            let mut learnt = Learnt::from_word(0);
            looks_of(is_alone, 100, Some(200), &mut learnt);
            let looks = looks_of(is_alone, 100, None, &mut learnt);
            assert!(looks < 10 * MOST, "{looks}");
        }
    }

    /// How many of 10,000 waits are trials, if one in `each` is rewarded.
    fn trials(is_alone: bool, each: u32, looks: u32) -> u32 {
        let mut learnt = Learnt::from_word(0);
        let mut trials = 0;
        for wait in 0..10_000 {
            let rewarded = wait % each == 0;
            // What was learnt is too little, so that only trials are rewarded.
            learnt.looks = 0;
            let is_trial = learnt.is_trial();
            trials += u32::from(is_trial);
            learnt =
                Learnt::from_word(learnt.after(is_alone, looks, is_trial && rewarded).to_word());
        }
        trials
    }

    #[test]
    fn quick_rewards_make_trials_more_frequent_step_by_step() {
        let quick = MOST / QUICK_SHARE;
        let mut learnt = Learnt { looks: 0, interval: LATE, waits: 0 };
        let intervals = [0; 5].map(|_| {
            learnt = learnt.after(true, quick, true);
            learnt.interval
        });
        assert_eq!(intervals, [SOON - 1, SOON - 2, SOON - 3, SOON - 4, 0]);
        assert!(learnt.is_trial());
        assert_eq!(learnt.after(true, MOST, false).interval, 1);
        assert_eq!(learnt.after(true, quick + 1, true).interval, SOON);
        assert_eq!(learnt.after(false, quick, true).interval, SOON);
    }

    #[test]
    fn trials_are_frequent_while_they_are_rewarded_soon() {
        let quick = MOST / QUICK_SHARE;
        assert_eq!(trials(true, 1, quick), 10_000);
        let [two, three, ten] = [2, 3, 10].map(|each| trials(true, each, quick));
        assert!(two > 2_000, "{two}");
        assert!(ten < 200 && ten <= three, "{three}, {ten}");
        for rare in [trials(false, 1, quick), trials(true, 1, quick + 1)] {
            assert!((500..700).contains(&rare), "{rare}");
        }
    }

    /// How many looks are learnt at a key of this test's by one that is rewarded at once, after
    /// which the thread comes out of a sleep `woke_after_ns` later, if it sleeps, and looks again.
    /// `None` where other tests' locks in the bucket learnt meanwhile.
    fn learnt_of_one_look(woke_after_ns: Option<u64>) -> Option<u32> {
        let key = Key::semaphore(core::ptr::from_ref(&woke_after_ns).addr());
        let (notes, word) = (&lot::own().unwrap().notes, &lot::advice(key)[LOOKS]);
        // The next wait is no trial.
        let before = Learnt { looks: 50, interval: SOON, waits: 1 };
        word.store(before.to_word(), Ordering::Relaxed);
        let was_ready = spin_first(key, || true, || true);
        let learnt = Learnt::from_word(word.load(Ordering::Relaxed));
        if !was_ready || learnt.looks != 28 {
            return None;
        }
        if let Some(after) = woke_after_ns {
            let rewarded = notes.times[REWARDED].load(Ordering::Relaxed);
            notes.woke_at.store(rewarded + after, Ordering::Relaxed);
        }
        look_back(notes);
        let now = Learnt::from_word(word.load(Ordering::Relaxed));
        (now.waits == learnt.waits).then_some(now.looks)
    }

    #[test]
    fn a_look_counts_as_failed_if_the_thread_went_on_no_sooner_for_it() {
        assert!(lot::prepare());
        if lot::is_single() {
            return;
        }
        let looks_after = |woke| (0..100).find_map(|_| learnt_of_one_look(woke));
        assert_eq!(looks_after(Some(0)), Some(25));
        assert_eq!(looks_after(Some(2 * trial_ns() - 1)), Some(25));
        // It slept for longer than a sleep and a wake more would have taken, or not at all.
        assert_eq!(looks_after(Some(2 * trial_ns())), Some(28));
        assert_eq!(looks_after(None), Some(28));
    }

    #[test]
    fn a_reward_is_forgotten_as_the_thread_looks_again() {
        assert!(lot::prepare());
        let notes = &lot::own().unwrap().notes;
        notes.times[REWARDED].store(monotonic_ns(), Ordering::Relaxed);
        notes.woke_at.store(0, Ordering::Relaxed);
        look_back(notes);
        assert_eq!(notes.times[REWARDED].load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_trial_in_vain_makes_trials_rarer() {
        let before = Learnt { looks: 0, interval: SOON + 2, waits: 0 };
        assert!(before.is_trial());
        let meanwhile = Learnt { waits: 7, ..before.after(true, 20, true) };
        let now = meanwhile.without(before);
        assert_eq!([now.looks, now.interval, now.waits], [0, SOON + 3, 7]);
    }

    #[test]
    fn what_others_have_learnt_of_failures_stands() {
        // Of a reward in vain of another thread's, this thread had high hopes.
        let first = Learnt { looks: 0, interval: SOON + 2, waits: 0 };
        let after = |learnt: Learnt| learnt.after(true, 20, true);
        let second = after(first);
        let now = after(second).without(first).without(second);
        assert_eq!([now.looks, now.interval], [0, SOON + 3]);
        let despaired = Learnt { looks: 0, interval: LATE, waits: 9 };
        let hopeful = Learnt { looks: 200, interval: SOON, waits: 1 };
        assert_eq!(despaired.without(hopeful).to_word(), despaired.to_word());
    }
}
