//! What is tried less often the more often it was in vain: spinning for a lock whose holder may be
//! off its processor, and yielding to others before a sleep.
//!
//! A bucket keeps the outcomes, in a word of its advice. At first, and as long as it pays, it is
//! tried each time. Once it was in vain so many times in a row as the caller says, it is tried now
//! and then only, and more rarely with each trial that fails. A trial that is rewarded brings all
//! back; or, where too large a share of the trials is in vain (`learn_by_share`), for as long as
//! none is in vain.
//!
//! A thread that sees that nothing is to be had before something has happened may suspend the
//! trials until then.

use crate::prim::adjustable;
use crate::prim::atomic::{AtomicU32, Ordering};

/// log2 of how many occasions there are between two trials, at most.
const LATE: u32 = 10;

/// In the word: how many times in a row it was in vain (of those that learn by their share also
/// with rewards in between, while it is too large); whether trials are suspended; of those that
/// learn by their share, whether one was rewarded since, a moving average of the share that was in
/// vain, and how late the others are rewarded as a rule; above that, the occasions since the last
/// trial.
const VAIN: u32 = 0xf;
const SUSPENDED: u32 = VAIN + 1;
const REWARDED: u32 = SUSPENDED << 1;
const ONE_OF_SHARE: u32 = REWARDED << 1;
const WHOLE: u32 = 255;
const SHARE: u32 = WHOLE * ONE_OF_SHARE;
const ONE_OF_LATENESS: u32 = ONE_OF_SHARE << 8;
const LATENESS: u32 = 31 * ONE_OF_LATENESS;
const LEARNT: u32 = SHARE | LATENESS;
pub(super) const ONE_OCCASION: u32 = ONE_OF_LATENESS << 5;

/// The latest that is told from later ones; and in how many steps what is learnt of it goes from
/// one to the next. It goes up or down by a step with each reward, so that half of them come no
/// later.
const LATEST: u32 = 7;
const FRACTION: u32 = 4;

/// The average is of so many trials.
const AVERAGED: u32 = 32;
/// So much is too large a share, in hundredths.
const TOO_MANY: u32 = 40;

/// Whether to try, on this occasion, where `enough` times in vain in a row show that it doesn't
/// pay.
pub(super) fn are_due(learnt: &AtomicU32, enough: u32) -> bool {
    let word = learnt.load(Ordering::Relaxed);
    let (due, new) = after_occasion(word, enough);
    if new != word {
        learnt.store(new, Ordering::Relaxed);
    }
    due
}

/// Whether the last trial was rewarded, as far as is known, and none is suspended: then any may be
/// made, and its reward needn't be noted. (The share that is learnt is then too large.)
pub(super) fn are_rewarded(learnt: &AtomicU32) -> bool {
    learnt.load(Ordering::Relaxed) & !LEARNT == 0
}

/// Whether none is suspended, and not so many were in vain, in a row or while their share was too
/// large, that trials are as rare as they become.
pub(super) fn are_some_rewarded(learnt: &AtomicU32) -> bool {
    let word = learnt.load(Ordering::Relaxed);
    word & SUSPENDED == 0 && word & VAIN < adjustable!(LATE, SpinTrials)
}

/// Notes what a trial came to.
pub(super) fn learn(learnt: &AtomicU32, rewarded: bool) {
    let word = learnt.load(Ordering::Relaxed);
    let new = after_trial(word, rewarded);
    if new != word {
        learnt.store(new, Ordering::Relaxed);
    }
}

/// The same, so that a reward doesn't bring all back where too large a share is in vain. How late a
/// reward came is in the caller's units, from 0.
pub(super) fn learn_by_share(learnt: &AtomicU32, rewarded: Option<u32>) {
    let word = learnt.load(Ordering::Relaxed);
    let new = after_trial_by_share(word, rewarded);
    if new != word {
        learnt.store(new, Ordering::Relaxed);
    }
}

/// How late rewards come as a rule, as far as `learn_by_share` was told.
pub(super) fn lateness(learnt: &AtomicU32) -> u32 {
    (lateness_of(learnt.load(Ordering::Relaxed)) + FRACTION / 2) / FRACTION
}

/// Lets no occasion be one for a trial until `resume`.
pub(super) fn suspend(learnt: &AtomicU32) {
    learnt.fetch_or(SUSPENDED, Ordering::Relaxed);
}

/// Ends what `suspend` began.
pub(super) fn resume(learnt: &AtomicU32) {
    if learnt.load(Ordering::Relaxed) & SUSPENDED != 0 {
        learnt.fetch_and(!SUSPENDED, Ordering::Relaxed);
    }
}

/// How many trials were in vain, in a row until now (of those that learn by their share also with
/// rewards in between, while it is too large).
pub(super) fn in_vain(learnt: &AtomicU32) -> u32 {
    learnt.load(Ordering::Relaxed) & VAIN
}

/// Whether to try, and the word after the occasion.
fn after_occasion(word: u32, enough: u32) -> (bool, u32) {
    let vain = word & VAIN;
    if word & SUSPENDED != 0 {
        return (false, word);
    }
    if vain < enough || word & REWARDED != 0 {
        return (true, word);
    }
    let late = adjustable!(LATE, SpinTrials);
    let trial_in = if vain < late { vain + 1 } else { late };
    let is_trial = word / ONE_OCCASION >= 1 << trial_in;
    (is_trial, if is_trial { word & (VAIN | LEARNT) } else { word + ONE_OCCASION })
}

/// The word after a trial that was rewarded, or in vain.
fn after_trial(word: u32, rewarded: bool) -> u32 {
    match (rewarded, word & VAIN) {
        (true, _) => 0,
        (false, vain) if vain == adjustable!(LATE, SpinTrials) => word & (VAIN | SUSPENDED),
        (false, _) => (word & (VAIN | SUSPENDED)) + 1,
    }
}

/// The same, by the share, with how late it was rewarded.
fn after_trial_by_share(word: u32, rewarded: Option<u32>) -> u32 {
    let (mut share, mut lateness) = (share_in_vain(word), lateness_of(word));
    if let Some(late) = rewarded {
        share -= share / AVERAGED;
        let late = late.min(LATEST) * FRACTION;
        lateness =
            if late < lateness { lateness - 1 } else { lateness + u32::from(late > lateness) };
    } else {
        share += (WHOLE - share) / AVERAGED;
    }
    let new = if rewarded.is_some() && share >= WHOLE * TOO_MANY / 100 {
        (word & (VAIN | SUSPENDED)) | REWARDED
    } else {
        after_trial(word, rewarded.is_some())
    };
    new | (share * ONE_OF_SHARE) | (lateness * ONE_OF_LATENESS)
}

fn share_in_vain(word: u32) -> u32 {
    (word & SHARE) / ONE_OF_SHARE
}

fn lateness_of(word: u32) -> u32 {
    (word & LATENESS) / ONE_OF_LATENESS
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const ENOUGH: u32 = 2;

    /// How many trials there are on so many occasions, if all come to the same.
    fn trials_on(occasions: u32, rewarded: bool, word: &mut u32) -> u32 {
        let tries = |_: &u32| {
            let (is_due, after) = after_occasion(*word, ENOUGH);
            *word = if is_due { after_trial(after, rewarded) } else { after };
            is_due
        };
        (0..occasions).filter(tries).count() as u32
    }

    #[test]
    fn trials_in_vain_become_rare() {
        let mut word = 0;
        assert_eq!(trials_on(2, false, &mut word), 2);
        assert_eq!(trials_on(8, false, &mut word), 0);
        let trials = trials_on(100_000, false, &mut word);
        assert!((90..110).contains(&trials), "{trials} on 100,000 occasions");
    }

    #[test]
    fn a_rewarded_trial_brings_all_back() {
        let mut word = 0;
        trials_on(100_000, false, &mut word);
        let trials = trials_on(2_000, true, &mut word);
        assert!(trials > 900, "{trials} on 2,000 occasions, of which one in 1,024 was a trial");
        assert_eq!(trials_on(100, true, &mut word), 100);
    }

    #[test]
    fn suspended_trials_are_neither_due_nor_counted() {
        let learnt = AtomicU32::new(0);
        for vain in 0..2 * ENOUGH {
            assert_eq!(in_vain(&learnt), vain);
            suspend(&learnt);
            let word = learnt.load(Ordering::Relaxed);
            assert!((0..10_000).all(|_| !are_due(&learnt, ENOUGH)));
            assert_eq!(learnt.load(Ordering::Relaxed), word);
            resume(&learnt);
            learn(&learnt, false);
        }
        learn(&learnt, true);
        assert!(are_due(&learnt, ENOUGH));
    }

    #[test]
    fn one_trial_in_vain_among_others_changes_nothing() {
        let mut word = 0;
        for _ in 0..100 {
            assert_eq!(trials_on(1, false, &mut word), 1);
            assert_eq!(trials_on(1, true, &mut word), 1);
        }
    }

    /// How many of so many occasions are trials, by the share.
    fn trials_by_share(
        occasions: u32,
        word: &mut u32,
        mut rewarded: impl FnMut(u32) -> bool,
    ) -> u32 {
        let mut made = 0;
        for _ in 0..occasions {
            let (is_due, after) = after_occasion(*word, ENOUGH);
            *word = after;
            if is_due {
                made += 1;
                *word = after_trial_by_share(after, rewarded(made).then_some(0));
            }
        }
        made
    }

    #[test]
    fn trials_become_rare_where_half_of_them_are_in_vain() {
        // Two in a row, and four.
        for (period, vain) in [(4, 2), (8, 4), (3, 2)] {
            let (mut word, rewarded) = (0, |made: u32| made % period >= vain);
            trials_by_share(100_000, &mut word, rewarded);
            let made = trials_by_share(100_000, &mut word, rewarded);
            assert!(made < 2_000, "{made} on 100,000 occasions");
            assert!(share_in_vain(word) > WHOLE * TOO_MANY / 100);
        }
    }

    #[test]
    fn trials_go_on_where_a_fifth_of_them_is_in_vain() {
        // One at a time, and two in a row.
        for (period, vain, least) in [(5, 1, 100_000), (10, 2, 50_000), (1_000, 2, 95_000)] {
            let mut word = 0;
            let made = trials_by_share(100_000, &mut word, |made| made % period >= vain);
            assert!(made >= least, "{made} on 100,000 occasions");
        }
    }

    #[test]
    fn the_share_is_forgotten_after_some_rewards() {
        let mut word = 0;
        trials_by_share(100_000, &mut word, |_| false);
        assert!(!are_some_rewarded(&AtomicU32::new(word)));
        while trials_by_share(1, &mut word, |_| true) == 0 {}
        assert!(in_vain(&AtomicU32::new(word)) == LATE && word & REWARDED != 0);
        let rewards = 2 * AVERAGED;
        assert_eq!(trials_by_share(rewards, &mut word, |_| true), rewards);
        let learnt = AtomicU32::new(word);
        assert!(are_rewarded(&learnt) && are_some_rewarded(&learnt));
        suspend(&learnt);
        assert!(!are_some_rewarded(&learnt));
    }

    #[test]
    fn how_late_rewards_come_is_learnt() {
        let learnt = AtomicU32::new(0);
        for (late, expected) in [(0, 0), (3, 3), (7, 7), (99, 7), (2, 2), (0, 0)] {
            (0..40).for_each(|_| learn_by_share(&learnt, Some(late)));
            assert_eq!(lateness(&learnt), expected);
            learn_by_share(&learnt, None);
            assert_eq!(lateness(&learnt), expected, "one in vain says nothing");
        }
        // Nine of ten are early.
        for trial in 0..200 {
            learn_by_share(&learnt, Some(if trial % 10 == 0 { 7 } else { 2 }));
        }
        assert!((2..4).contains(&lateness(&learnt)), "{}", lateness(&learnt));
    }

    #[test]
    fn the_word_has_room_for_all_that_it_counts() {
        let counted = (ONE_OCCASION << LATE) | LEARNT | REWARDED | SUSPENDED | VAIN;
        assert_eq!(counted.count_ones(), ONE_OCCASION.trailing_zeros() + 1);
        assert_eq!((ONE_OCCASION << LATE) >> LATE, ONE_OCCASION);
    }
}
