//! Statistics as pure functions.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// The sign test's level: five pairs that all point the same way reach it just so.
const SIGNIFICANCE: f64 = 1.0 / 16.0;
/// Fewer pairs cannot reach it.
pub const PAIRS_MIN: usize = 5;
/// The rank-sum test's: three rounds against three reach it if each of the ones is above all the others.
const RANK_SIGNIFICANCE: f64 = 0.1;
/// A median closer to 1 than this is no difference that anybody would notice.
const NOTICEABLE: f64 = 0.01;

/// Five numbers that stand for many.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub min: f64,
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    pub max: f64,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share);
        Spread {
            min: at(0.0),
            lower_quartile: at(0.25),
            median: at(0.5),
            upper_quartile: at(0.75),
            max: at(1.0),
        }
    }

    /// Half the range, in percent of the median.
    pub fn percent(&self) -> f64 {
        let range = self.max - self.min;
        if range == 0.0 { 0.0 } else { range / (2.0 * self.median) * 100.0 }
    }
}

/// Of at least one value, all above 0.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

pub fn median(values: &[f64]) -> f64 {
    Spread::of(values).median
}

/// Between two values it interpolates.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    assert!(!sorted.is_empty(), "a quantile of nothing");
    let position = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    // Also keeps two infinities from becoming NaN.
    if below == above { below } else { below + (above - below) * position.fract() }
}

/// `numerator / denominator`, where nothing over nothing means that both are the same.
pub fn ratio(numerator: f64, denominator: f64) -> f64 {
    if numerator == denominator { 1.0 } else { numerator / denominator }
}

/// Jain's fairness index: 1 if all got the same, 1/n if one got everything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

/// How likely `pairs` tosses of a fair coin fall at least as often on one side, whichever that
/// is, as `agreeing` (the greater of the two counts).
pub fn sign_test(agreeing: usize, pairs: usize) -> f64 {
    let mut term = 0.5f64.powi(i32::try_from(pairs).unwrap_or(i32::MAX));
    let mut tail = 0.0;
    // Terms of the binomial distribution, from `pairs` heads downwards.
    for heads in (agreeing..=pairs).rev() {
        tail += term;
        term *= heads as f64 / (pairs - heads + 1) as f64;
    }
    (2.0 * tail).min(1.0)
}

/// How likely ranks lie at least as unevenly as those of `ones` among `ones` and `others` together, if
/// both were drawn alike: Wilcoxon's rank-sum test, exact, two-sided. A tie counts half for each.
pub fn rank_sum_test(ones: &[f64], others: &[f64]) -> f64 {
    // Pairs in which the one is the greater, doubled so that ties stay whole.
    let doubled = |one: f64, other: f64| match one.total_cmp(&other) {
        Ordering::Greater => 2,
        Ordering::Equal => 1,
        Ordering::Less => 0,
    };
    let wins: usize = ones
        .iter()
        .map(|one| others.iter().map(|other| doubled(*one, *other)).sum::<usize>())
        .sum();
    let pairs = ones.len() * others.len();
    let farthest = wins.max(2 * pairs - wins);
    // In how many ways so many of the pairs can be won: the coefficients of a Gaussian binomial.
    let ways = ways_to_win(ones.len(), others.len());
    let all: f64 = ways.iter().sum();
    let tail: f64 = ways.iter().skip(farthest.div_ceil(2)).sum();
    (2.0 * tail / all).min(1.0)
}

/// For each number of won pairs, the orders of `ones` and `others` that have it.
fn ways_to_win(ones: usize, others: usize) -> Vec<f64> {
    let pairs = ones * others;
    let mut ways = vec![0.0; pairs + 1];
    ways[0] = 1.0;
    for place in 1..=ones {
        // Times 1 - q^(others + place), over 1 - q^place.
        for won in (others + place..=pairs).rev() {
            ways[won] -= ways[won - others - place];
        }
        for won in place..=pairs {
            ways[won] += ways[won - place];
        }
    }
    ways
}

/// Do two sets of rounds differ, as far as their spread can tell? By the rank-sum test, and by medians
/// that anybody would notice.
pub fn differ(ones: &[f64], others: &[f64]) -> bool {
    if ones.is_empty() || others.is_empty() {
        return false;
    }
    let medians = ratio(median(ones), median(others));
    (medians - 1.0).abs() >= NOTICEABLE && rank_sum_test(ones, others) <= RANK_SIGNIFICANCE
}

/// The exponent b of y = a x^b, by least squares over the logarithms; none of fewer than three points
/// above zero.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0)
        .map(|(x, y)| (x.ln(), y.ln()))
        .collect();
    if logs.len() < 3 {
        return None;
    }
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    (variance > 0.0).then(|| covariance / variance)
}

#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Faster,
    NoDifference,
    Slower,
    TooFewPairs,
}

/// Judges the gains of all pairs, each more than 1 where furwock did better: by the sign test, in
/// which a tie speaks for neither side, and by a median that anybody would notice.
pub fn verdict(gains: &[f64]) -> Verdict {
    if gains.len() < PAIRS_MIN {
        return Verdict::TooFewPairs;
    }
    let better = gains.iter().filter(|gain| **gain > 1.0).count();
    let worse = gains.iter().filter(|gain| **gain < 1.0).count();
    let median = median(gains);
    if sign_test(better.max(worse), gains.len()) > SIGNIFICANCE || (median - 1.0).abs() < NOTICEABLE
    {
        Verdict::NoDifference
    } else if better > worse {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_interpolates() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.5, 4.0));
        assert_eq!((spread.lower_quartile, spread.upper_quartile), (1.75, 3.25));
        assert_eq!(median(&[7.0]), 7.0);
    }

    #[test]
    fn spread_bears_infinities() {
        let spread = Spread::of(&[f64::INFINITY, 1.0, f64::INFINITY]);
        assert_eq!((spread.min, spread.median), (1.0, f64::INFINITY));
        assert_eq!(spread.upper_quartile, f64::INFINITY);
    }

    #[test]
    fn spread_in_percent_of_the_median() {
        assert_eq!(Spread::of(&[90.0, 100.0, 130.0]).percent(), 20.0);
        assert_eq!(Spread::of(&[5.0]).percent(), 0.0);
    }

    #[test]
    fn geometric_means_weigh_a_half_as_much_as_a_double() {
        assert!((geometric_mean(&[2.0, 0.5]) - 1.0).abs() < 1e-12);
        assert!((geometric_mean(&[1.0, 4.0]) - 2.0).abs() < 1e-12);
        assert!((geometric_mean(&[3.0]) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn rank_sums_by_counting() {
        // Three above three: one order of 20 on each side.
        assert!((rank_sum_test(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]) - 0.1).abs() < 1e-12);
        assert!((rank_sum_test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.1).abs() < 1e-12);
        // One of them in between: two orders of 20 on each side.
        assert!((rank_sum_test(&[3.0, 5.0, 6.0], &[1.0, 2.0, 4.0]) - 0.2).abs() < 1e-12);
        assert_eq!(rank_sum_test(&[1.0; 4], &[1.0; 4]), 1.0);
        assert_eq!(ways_to_win(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        let five = rank_sum_test(&[6.0, 7.0, 8.0, 9.0, 10.0], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((five - 2.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn what_the_spread_supports() {
        assert!(differ(&[1.1, 1.2, 1.3], &[0.9, 1.0, 1.05]));
        assert!(!differ(&[1.1, 1.2, 1.3], &[0.9, 1.15, 1.05]));
        // Apart, but by nothing that anybody would notice.
        assert!(!differ(&[1.003, 1.004, 1.005], &[1.0, 1.001, 1.002]));
        assert!(!differ(&[2.0], &[1.0]));
        assert!(!differ(&[], &[1.0]));
    }

    #[test]
    fn exponents_are_fitted() {
        let points: Vec<(f64, f64)> = (1..=6).map(|x| (f64::from(x), f64::from(x * x))).collect();
        assert!((exponent(&points).unwrap() - 2.0).abs() < 1e-12);
        let flat = [(1.0, 5.0), (10.0, 5.0), (100.0, 5.0)];
        assert!(exponent(&flat).unwrap().abs() < 1e-12);
        assert_eq!(exponent(&flat[..2]), None);
        assert_eq!(exponent(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn ratio_of_nothing_to_nothing() {
        assert_eq!(ratio(0.0, 0.0), 1.0);
        assert_eq!(ratio(1.0, 0.0), f64::INFINITY);
        assert_eq!(ratio(1.0, 4.0), 0.25);
    }

    #[test]
    fn jain_between_one_for_all_and_all_for_one() {
        assert_eq!(jain(&[5.0, 5.0, 5.0]), 1.0);
        assert_eq!(jain(&[9.0, 0.0, 0.0]), 1.0 / 3.0);
        assert_eq!(jain(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn sign_test_counts_both_tails() {
        assert_eq!(sign_test(5, 5), 2.0 / 32.0);
        assert_eq!(sign_test(9, 10), 22.0 / 1024.0);
        assert_eq!(sign_test(5, 10), 1.0);
    }

    #[test]
    fn verdict_wants_enough_pairs_that_agree() {
        assert_eq!(verdict(&[2.0; 4]), Verdict::TooFewPairs);
        assert_eq!(verdict(&[2.0; 5]), Verdict::Faster);
        assert_eq!(verdict(&[0.5; 5]), Verdict::Slower);
        assert_eq!(verdict(&[2.0, 2.0, 2.0, 2.0, 0.9]), Verdict::NoDifference);
        assert_eq!(verdict(&[2.0, 2.0, 2.0, 2.0, 1.0]), Verdict::NoDifference);
        assert_eq!(verdict(&[1.005; 10]), Verdict::NoDifference);
    }

    #[test]
    fn verdict_bears_one_dissenter_in_ten_but_not_two() {
        let mut gains = [1.5; 10];
        gains[3] = 0.9;
        assert_eq!(verdict(&gains), Verdict::Faster);
        gains[7] = 0.9;
        assert_eq!(verdict(&gains), Verdict::NoDifference);
    }
}
