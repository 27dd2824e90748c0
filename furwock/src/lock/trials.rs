//! What is tried less often the more often it was in vain: spinning for a lock whose holder may be
//! off its processor, and yielding to others before a sleep.
//!
//! A bucket keeps the outcomes, in a word of its advice. At first, and as long as it pays, it is
//! tried each time. Once it was in vain so many times in a row as the caller says, it is tried now
//! and then only, and more rarely with each trial that fails. A trial that is rewarded brings all
//! back; or, where one in vain costs far more than a reward brings (`learn_slowly`), for as long as
//! none is in vain, and what had been learnt is unlearnt by and by.
//!
//! A thread that sees that nothing is to be had before something has happened may suspend the
//! trials until then.

use crate::prim::adjustable;
use crate::prim::atomic::{AtomicU32, Ordering};

/// log2 of how many occasions there are between two trials, at most.
const LATE: u32 = 10;

/// In the word: how many times in a row it was in vain; whether trials are suspended; of slow
/// learners, the rewards since then, by which one time after the other is unlearnt; above that, the
/// occasions since the last trial.
const VAIN: u32 = 0xff;
const SUSPENDED: u32 = VAIN + 1;
const ONE_REWARD: u32 = SUSPENDED << 1;
const REWARDS: u32 = 0xf * ONE_REWARD;
pub(super) const ONE_OCCASION: u32 = ONE_REWARD << 4;

/// So many rewards in a row unlearn one time in vain.
const UNLEARNS: u32 = 8;
/// So few times in vain are unlearnt by one reward.
const FEW: u32 = 2;

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
/// made, and its reward needn't be noted.
pub(super) fn are_rewarded(learnt: &AtomicU32) -> bool {
    learnt.load(Ordering::Relaxed) == 0
}

/// Notes what a trial came to.
pub(super) fn learn(learnt: &AtomicU32, rewarded: bool) {
    let word = learnt.load(Ordering::Relaxed);
    let new = after_trial(word, rewarded);
    if new != word {
        learnt.store(new, Ordering::Relaxed);
    }
}

/// The same, so that a mixture of rewards and times in vain makes trials rare.
pub(super) fn learn_slowly(learnt: &AtomicU32, rewarded: bool) {
    let word = learnt.load(Ordering::Relaxed);
    let new = after_slow_trial(word, rewarded);
    if new != word {
        learnt.store(new, Ordering::Relaxed);
    }
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

/// How many trials were in vain, in a row until now.
pub(super) fn in_vain(learnt: &AtomicU32) -> u32 {
    learnt.load(Ordering::Relaxed) & VAIN
}

/// Whether to try, and the word after the occasion.
fn after_occasion(word: u32, enough: u32) -> (bool, u32) {
    let vain = word & VAIN;
    if word & SUSPENDED != 0 {
        return (false, word);
    }
    if vain < enough || word & REWARDS != 0 {
        return (true, word);
    }
    let late = adjustable!(LATE, SpinTrials);
    let trial_in = if vain < late { vain + 1 } else { late };
    let is_trial = word / ONE_OCCASION >= 1 << trial_in;
    (is_trial, if is_trial { vain } else { word + ONE_OCCASION })
}

/// The word after a trial that was rewarded, or in vain.
fn after_trial(word: u32, rewarded: bool) -> u32 {
    match (rewarded, word & VAIN) {
        (true, _) => 0,
        (false, vain) if vain == adjustable!(LATE, SpinTrials) => word & (VAIN | SUSPENDED),
        (false, _) => (word & (VAIN | SUSPENDED)) + 1,
    }
}

/// The same of a slow learner's.
fn after_slow_trial(word: u32, rewarded: bool) -> u32 {
    let vain = word & VAIN;
    if !rewarded || vain <= FEW {
        return after_trial(word & !REWARDS, rewarded);
    }
    let rewards = (word & REWARDS) / ONE_REWARD;
    let (vain, rewards) = if rewards == UNLEARNS { (vain - 1, 1) } else { (vain, rewards + 1) };
    vain | (word & SUSPENDED) | (rewards * ONE_REWARD)
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

    /// How many of so many occasions are trials of a slow learner.
    fn slow_trials(occasions: u32, word: &mut u32, mut rewarded: impl FnMut(u32) -> bool) -> u32 {
        let mut made = 0;
        for _ in 0..occasions {
            let (is_due, after) = after_occasion(*word, ENOUGH);
            *word = after;
            if is_due {
                made += 1;
                *word = after_slow_trial(after, rewarded(made));
            }
        }
        made
    }

    #[test]
    fn a_slow_learner_makes_few_trials_where_a_fourth_is_in_vain() {
        // Three in a row.
        let rewarded = |made: u32| made % 12 > 2;
        let (mut slow, mut made) = (0, 0);
        slow_trials(100_000, &mut slow, rewarded);
        made += slow_trials(100_000, &mut slow, rewarded);
        assert!(made < 1_000, "{made} on 100,000 occasions");
    }

    #[test]
    fn a_slow_learner_tries_where_hardly_any_is_in_vain() {
        let mut word = 0;
        let made = slow_trials(100_000, &mut word, |made| made % 100 != 0);
        assert_eq!(made, 100_000);
        // Two in a row.
        let made = slow_trials(100_000, &mut word, |made| made % 1_000 > 1);
        assert!(made > 90_000, "{made} on 100,000 occasions");
    }

    #[test]
    fn a_slow_learner_soon_forgets_times_in_vain() {
        let mut word = 0;
        slow_trials(100_000, &mut word, |_| false);
        assert_eq!(in_vain(&AtomicU32::new(word)), LATE);
        while slow_trials(1, &mut word, |_| true) == 0 {}
        assert!(in_vain(&AtomicU32::new(word)) == LATE && word & REWARDS != 0);
        assert_eq!(slow_trials(UNLEARNS * LATE, &mut word, |_| true), UNLEARNS * LATE);
        assert_eq!(word, 0);
    }
}
