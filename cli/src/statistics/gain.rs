//! How many times as good one side is as the other, how far the measurements tell that, and the
//! verdict that follows from both.
//!
//! A gain is the ratio of the two medians that are shown. Its interval is that of a rank test: all
//! gains at which the test would find no difference if one side were divided by them. The test asks
//! nothing of how the values are distributed. An interval from few values may leave out the ratio
//! of medians, and is then extended to it.

use serde::Serialize;

use super::ranks::{place_among_means, place_among_ratios};
use super::{median, ratio};

/// How often an interval of pairs may miss.
pub const LEVEL_OF_PAIRS: f64 = 0.05;
/// The same of rounds that aren't paired. Three on each side just reach it.
pub const LEVEL_OF_ROUNDS: f64 = 0.1;
/// Fewer pairs reach no verdict.
pub const PAIRS_MIN: usize = 6;
/// Fewer rounds on each side reach no verdict.
pub const ROUNDS_MIN: usize = 3;
/// An interval that ends no further from 1 says that both sides are the same.
const SAME: f64 = 0.01;
/// With more pairs a sample of them says the same.
const PAIRS_MAX: usize = 1000;

#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Faster,
    Slower,
    /// The whole interval is within 1 % of 1.
    Same,
    /// The interval contains 1, and more.
    Inconclusive,
    TooFewPairs,
}

/// More than 1 is better.
#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// One median over the other.
    pub gain: f64,
    pub interval: Option<Interval>,
}

#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// A cost on both sides, pair by pair.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    pub theirs: Vec<f64>,
    pub ours: Vec<f64>,
}

impl Pairs {
    pub fn len(&self) -> usize {
        self.theirs.len().min(self.ours.len())
    }

    /// Of at least one pair.
    pub fn gain(&self) -> Gain {
        let gain = ratio(median(&self.theirs), median(&self.ours));
        let step = self.len().div_ceil(PAIRS_MAX).max(1);
        let pairs = self.theirs.iter().zip(&self.ours).step_by(step);
        let logs: Vec<f64> = pairs.map(|(theirs, ours)| ratio(*theirs, *ours).ln()).collect();
        let place = place_among_means(logs.len(), LEVEL_OF_PAIRS);
        let interval = place.map(|place| {
            let ones = |at: usize| logs[at..].iter().map(move |other| (at, *other));
            let means = (0..logs.len()).flat_map(ones);
            Interval::between(means.map(|(at, other)| mean(logs[at], other)).collect(), place)
        });
        Gain::new(gain, interval)
    }
}

/// Nothing on one side and nothing on the other side of another pair cancel out.
fn mean(one: f64, other: f64) -> f64 {
    if one == -other { 0.0 } else { (one + other) / 2.0 }
}

impl Gain {
    fn new(gain: f64, interval: Option<Interval>) -> Self {
        let holding =
            |Interval { low, high }| Interval { low: low.min(gain), high: high.max(gain) };
        Gain { gain, interval: interval.map(holding) }
    }

    /// The same with another ratio, which is shown instead of that of the medians.
    pub fn about(self, gain: f64) -> Self {
        Gain::new(gain, self.interval)
    }

    /// Of values that aren't paired, at least one on each side, the more the better.
    pub fn of_rounds(ours: &[f64], theirs: &[f64]) -> Self {
        let gain = ratio(median(ours), median(theirs));
        let place = place_among_ratios(ours.len(), theirs.len(), LEVEL_OF_ROUNDS);
        let interval = place.map(|place| {
            let over =
                |ours: &f64| theirs.iter().map(|theirs| ratio(*ours, *theirs).ln()).collect();
            let logs: Vec<Vec<f64>> = ours.iter().map(over).collect();
            Interval::between(logs.concat(), place)
        });
        Gain::new(gain, interval)
    }

    pub fn verdict(&self) -> Verdict {
        let Some(interval) = self.interval else { return Verdict::TooFewPairs };
        let Interval { low, high } = interval.as_shown();
        match () {
            () if low >= 1.0 - SAME - 1e-9 && high <= 1.0 + SAME + 1e-9 => Verdict::Same,
            () if low > 1.0 => Verdict::Faster,
            () if high < 1.0 => Verdict::Slower,
            () => Verdict::Inconclusive,
        }
    }

    /// Faster or slower?
    pub fn differs(&self) -> bool {
        matches!(self.verdict(), Verdict::Faster | Verdict::Slower)
    }
}

impl Interval {
    /// Between the value at `place` from below and that from above, of logarithms.
    fn between(mut logs: Vec<f64>, place: usize) -> Self {
        logs.sort_by(f64::total_cmp);
        Interval { low: logs[place - 1].exp(), high: logs[logs.len() - place].exp() }
    }

    /// Rounded as people see it: a verdict follows from nothing else.
    fn as_shown(self) -> Self {
        let shown = |bound: f64| (bound * 100.0).round() / 100.0;
        Interval { low: shown(self.low), high: shown(self.high) }
    }
}

/// Whether so many rounds on each side can reach a verdict.
pub fn can_differ(rounds: usize) -> bool {
    rounds >= ROUNDS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Random;

    fn pairs(theirs: &[f64], ours: &[f64]) -> Gain {
        Pairs { theirs: theirs.into(), ours: ours.into() }.gain()
    }

    #[test]
    fn the_gain_is_that_of_the_medians() {
        let gain = pairs(&[2.0, 2.2, 2.4], &[1.0, 1.1, 1.3]);
        assert!((gain.gain - 2.0).abs() < 1e-12);
        assert_eq!((gain.interval, gain.verdict()), (None, Verdict::TooFewPairs));
        let gain = Gain::of_rounds(&[2.0, 2.2, 2.4], &[1.0, 1.1, 1.3]);
        assert!((gain.gain - 2.0).abs() < 1e-12);
        let Interval { low, high } = gain.interval.unwrap();
        assert!((low - 2.0 / 1.3).abs() < 1e-12 && (high - 2.4).abs() < 1e-12);
    }

    #[test]
    fn verdicts_follow_from_the_interval_as_shown() {
        let verdict =
            |low, high| Gain { gain: 1.0, interval: Some(Interval { low, high }) }.verdict();
        assert_eq!(verdict(1.18, 1.29), Verdict::Faster);
        assert_eq!(verdict(0.5, 0.9), Verdict::Slower);
        assert_eq!(verdict(0.97, 1.08), Verdict::Inconclusive);
        // A reader sees 1.00.
        assert_eq!(verdict(1.004, 1.2), Verdict::Inconclusive);
        assert_eq!(verdict(1.006, 1.2), Verdict::Faster);
        assert_eq!(verdict(0.99, 1.01), Verdict::Same);
        assert_eq!(verdict(1.002, 1.008), Verdict::Same);
        assert_eq!(verdict(0.99, 1.02), Verdict::Inconclusive);
    }

    #[test]
    fn one_pair_of_ten_may_dissent() {
        let ours = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98, 1.0, 1.01, 0.99, 1.0];
        let mut theirs = ours.map(|value| value * 1.5);
        assert_eq!(pairs(&theirs, &ours).verdict(), Verdict::Faster);
        theirs[3] = 0.95;
        assert_eq!(pairs(&theirs, &ours).verdict(), Verdict::Faster);
        theirs[5] = 0.7;
        theirs[7] = 0.6;
        assert_eq!(pairs(&theirs, &ours).verdict(), Verdict::Inconclusive);
    }

    #[test]
    fn counts_may_be_nothing() {
        assert_eq!(pairs(&[0.0; 6], &[0.0; 6]).verdict(), Verdict::Same);
        assert_eq!(pairs(&[3.0; 6], &[0.0; 6]).verdict(), Verdict::Faster);
        let mixed = pairs(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0], &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
        assert_eq!(mixed.verdict(), Verdict::Inconclusive);
    }

    #[test]
    fn the_interval_holds_the_gain() {
        let mut random = Random::new(5, 0, 0.5);
        for count in [3, 4, 6, 7, 10, 40, 1500] {
            let mut side = || values(&mut random, count, 0.5, 1.0);
            let (ours, theirs) = (side(), side());
            let both = [pairs(&theirs, &ours), Gain::of_rounds(&ours, &theirs)];
            for Gain { gain, interval } in both {
                assert!(interval.is_none_or(|Interval { low, high }| low <= gain && gain <= high));
            }
        }
    }

    /// From 0 to 1.
    fn uniform(random: &mut Random) -> f64 {
        const PARTS: usize = 1 << 40;
        (random.below(PARTS) as f64 + 0.5) / PARTS as f64
    }

    /// Times of runs: about `typical`, with a long tail upwards as runs have it.
    fn values(random: &mut Random, count: usize, spread: f64, typical: f64) -> Vec<f64> {
        let value = |random: &mut Random| {
            let tail = if uniform(random) < 0.1 { 3.0 } else { 1.0 };
            typical * (1.0 - uniform(random).ln() * spread * tail)
        };
        (0..count).map(|_| value(random)).collect()
    }

    const TRIALS: usize = 4000;

    /// The shares of trials that said faster and slower.
    fn shares(mut trial: impl FnMut(&mut Random) -> Gain) -> (f64, f64) {
        let mut random = Random::new(42, 0, 0.5);
        let verdicts: Vec<Verdict> = (0..TRIALS).map(|_| trial(&mut random).verdict()).collect();
        let share = |wanted| {
            verdicts.iter().filter(|verdict| **verdict == wanted).count() as f64 / TRIALS as f64
        };
        (share(Verdict::Faster), share(Verdict::Slower))
    }

    /// Pairs share a drift of the machine, as runs one after another do.
    fn drifting(random: &mut Random, count: usize, spread: f64, gain: f64) -> Gain {
        let mut all = Pairs { theirs: values(random, count, spread, gain), ..Pairs::default() };
        all.ours = values(random, count, spread, 1.0);
        for (theirs, ours) in all.theirs.iter_mut().zip(&mut all.ours) {
            let drift = 1.0 + uniform(random);
            *theirs *= drift;
            *ours *= drift;
        }
        all.gain()
    }

    #[test]
    fn equal_sides_differ_as_often_as_stated() {
        for count in [6, 10, 20] {
            let (faster, slower) = shares(|random| drifting(random, count, 0.2, 1.0));
            // Ranks come in steps, and bounds that are shown as 1.00 say nothing: fewer, not more.
            let sum = faster + slower;
            assert!((0.4..1.2).contains(&(sum / LEVEL_OF_PAIRS)), "{count} pairs: {sum}");
            assert!((0.6..1.67).contains(&(faster / slower)), "{faster} {slower}");
        }
        for count in [3, 5, 8] {
            let (faster, slower) = shares(|random| {
                let mut side = || values(random, count, 0.2, 1.0);
                Gain::of_rounds(&side(), &side())
            });
            let sum = faster + slower;
            assert!((0.4..1.2).contains(&(sum / LEVEL_OF_ROUNDS)), "{count} rounds: {sum}");
        }
    }

    #[test]
    fn a_real_gap_is_found() {
        // Ten pairs whose sides scatter by a few percent, 20 % apart.
        let (faster, slower) = shares(|random| drifting(random, 10, 0.05, 1.2));
        assert!(faster > 0.95 && slower == 0.0, "{faster} {slower}");
        let (faster, slower) = shares(|random| drifting(random, 10, 0.05, 1.0 / 1.2));
        assert!(faster == 0.0 && slower > 0.95, "{faster} {slower}");
        let (faster, _) = shares(|random| {
            Gain::of_rounds(&values(random, 3, 0.05, 1.5), &values(random, 3, 0.05, 1.0))
        });
        assert!(faster > 0.95, "{faster}");
    }

    #[test]
    fn intervals_hold_the_true_gain_as_often_as_stated() {
        for (count, gain) in [(6, 1.3), (10, 0.7), (30, 2.0)] {
            let mut random = Random::new(7, 0, 0.5);
            let holds = |random: &mut Random| {
                let interval = drifting(random, count, 0.2, gain).interval.unwrap();
                interval.low <= gain && gain <= interval.high
            };
            let held = (0..TRIALS).filter(|_| holds(&mut random)).count() as f64 / TRIALS as f64;
            assert!(held >= 1.0 - 1.2 * LEVEL_OF_PAIRS, "{count} pairs: {held}");
        }
    }
}
