//! Statistics as pure functions.

use serde::{Deserialize, Serialize};

/// The sign test's level: five pairs that all point the same way just reach it.
const SIGNIFICANCE: f64 = 1.0 / 16.0;
/// Fewer pairs cannot reach it.
pub const PAIRS_MIN: usize = 5;
/// The rank-sum test's level: three rounds against three reach it if each on one side is above all
/// on the other.
const RANK_SIGNIFICANCE: f64 = 0.1;
/// A median closer to 1 than this counts as no difference.
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

/// Interpolates between two values.
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

/// Jain's fairness index: 1 if all shares are equal, 1/n if one has everything.
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

/// With more values the exact test is slow, and the normal distribution gives the same.
const EXACT_MAX: usize = 64;

/// Wilcoxon's rank-sum test, two-sided: the probability of ranks at least as uneven as those of
/// `ones` among all values, if both sides come from the same distribution. Values that tie share
/// their mean rank. The test is exact, also with ties, up to 64 values in all.
pub fn rank_sum_test(ones: &[f64], others: &[f64]) -> f64 {
    let mut all: Vec<f64> = ones.iter().chain(others).copied().collect();
    all.sort_by(f64::total_cmp);
    // Doubled, so that the mean rank of two values that tie is whole: the sum of the first and the
    // last place.
    let doubled_rank = |value: &f64| {
        let below = all.partition_point(|each| each.total_cmp(value).is_lt());
        let up_to = all.partition_point(|each| each.total_cmp(value).is_le());
        below + 1 + up_to
    };
    let ranks: Vec<usize> = all.iter().map(doubled_rank).collect();
    let sum: usize = ones.iter().map(doubled_rank).sum();
    let mean = ones.len() * (all.len() + 1);
    let distance = sum.abs_diff(mean);
    if all.len() > EXACT_MAX {
        return by_normal_distribution(&ranks, ones.len(), distance);
    }
    let ways = ways_to_sum(&ranks, ones.len());
    let far = |(sum, ways): (usize, &f64)| if sum.abs_diff(mean) >= distance { *ways } else { 0.0 };
    ways.iter().enumerate().map(far).sum::<f64>() / ways.iter().sum::<f64>()
}

/// For each sum, in how many ways `chosen` of the ranks add up to it.
fn ways_to_sum(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let greatest: usize = ranks.iter().sum();
    // Indexed by the number of ranks chosen, and their sum.
    let mut ways = vec![vec![0.0; greatest + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for count in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let reached = more[0][*rank..].iter_mut().zip(&fewer[count - 1]);
            reached.for_each(|(ways, fewer)| *ways += fewer);
        }
    }
    ways.swap_remove(chosen)
}

/// The probability that a sum of `chosen` (doubled) ranks is at least `distance` from its mean.
fn by_normal_distribution(ranks: &[usize], chosen: usize, distance: usize) -> f64 {
    let (all, chosen) = (ranks.len() as f64, chosen as f64);
    let mean = all + 1.0;
    let variance_of_one = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum::<f64>() / all;
    // Of a sum without replacement.
    let variance = chosen * (all - chosen) / (all - 1.0) * variance_of_one;
    if variance == 0.0 {
        return 1.0;
    }
    // Continuity correction: from the middle between this sum and the next nearer one.
    let deviations = (distance as f64 - 0.5).max(0.0) / variance.sqrt();
    two_tails(deviations)
}

/// The probability that a normal value is at least so many deviations from its mean, to 1e-7
/// (Abramowitz and Stegun, 7.1.26).
fn two_tails(deviations: f64) -> f64 {
    const TERMS: [f64; 5] =
        [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let x = deviations / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = TERMS.iter().fold(0.0, |sum, term| (sum + term) * t);
    (polynomial * (-x * x).exp()).clamp(0.0, 1.0)
}

/// Whether so few rounds can reach the rank-sum test's level at all: if each of the ones is above
/// all the others.
pub fn can_differ(ones: usize, others: usize) -> bool {
    // The number of ways to choose the ones. Two of them are the most uneven.
    let orders: f64 = (1..=ones).map(|place| (others + place) as f64 / place as f64).product();
    2.0 / orders <= RANK_SIGNIFICANCE * (1.0 + 1e-9)
}

/// Do two sets of rounds differ? By the rank-sum test, and by medians more than 1 % apart.
pub fn differ(ones: &[f64], others: &[f64]) -> bool {
    if ones.is_empty() || others.is_empty() {
        return false;
    }
    let medians = ratio(median(ones), median(others));
    (medians - 1.0).abs() >= NOTICEABLE && rank_sum_test(ones, others) <= RANK_SIGNIFICANCE
}

/// The exponent b of y = a x^b, by least squares over the logarithms; none of fewer than three
/// points above zero.
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
/// which a tie counts for neither side, and by a median more than 1 % from 1.
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
    fn a_spread_may_contain_infinities() {
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
        // Two of four: ranks of 1 and 2 up to those of 3 and 4.
        assert_eq!(ways_to_sum(&[1, 2, 3, 4], 2), [0, 0, 0, 1, 1, 2, 1, 1, 0, 0, 0].map(f64::from));
        let five = rank_sum_test(&[6.0, 7.0, 8.0, 9.0, 10.0], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((five - 2.0 / 252.0).abs() < 1e-12);
    }

    /// All ways to draw as many ones, counted one by one.
    fn by_counting(ones: &[f64], others: &[f64]) -> f64 {
        let all: Vec<f64> = ones.iter().chain(others).copied().collect();
        let wins = |ones: &[f64], others: &[f64]| -> f64 {
            let of = |one: &f64| {
                let against = |other: &f64| {
                    f64::from(u8::from(one > other)) * 2.0 + f64::from(u8::from(one == other))
                };
                others.iter().map(against).sum::<f64>()
            };
            ones.iter().map(of).sum::<f64>() - (ones.len() * others.len()) as f64
        };
        let distance = wins(ones, others).abs();
        let (mut as_far, mut count) = (0.0, 0.0);
        for drawn in 0u32..1 << all.len() {
            if drawn.count_ones() as usize != ones.len() {
                continue;
            }
            let side = |drawn_too: bool| -> Vec<f64> {
                let on_it = |at: &usize| (drawn >> at & 1 == 1) == drawn_too;
                (0..all.len()).filter(on_it).map(|at| all[at]).collect()
            };
            count += 1.0;
            as_far += f64::from(u8::from(wins(&side(true), &side(false)).abs() >= distance));
        }
        as_far / count
    }

    #[test]
    fn rank_sums_with_ties_are_exact() {
        let mut random = crate::harness::Random::new(1, 0, 0.5);
        for (ones, others) in [(1, 4), (3, 3), (3, 5), (5, 5), (6, 4)] {
            for sides in [2, 3, 5, 1000] {
                for _ in 0..10 {
                    let mut draw = |count| -> Vec<f64> {
                        (0..count).map(|_| random.below(sides) as f64).collect()
                    };
                    let (ones, others) = (draw(ones), draw(others));
                    let (exact, counted) =
                        (rank_sum_test(&ones, &others), by_counting(&ones, &others));
                    assert!(
                        (exact - counted).abs() < 1e-12,
                        "{ones:?} {others:?}: {exact} {counted}"
                    );
                }
            }
        }
        // Three above three but for a tie in the middle: that is less than fully apart.
        assert!(rank_sum_test(&[2.0, 3.0, 4.0], &[1.0, 1.0, 2.0]) > RANK_SIGNIFICANCE);
    }

    #[test]
    fn many_rounds_are_judged_too() {
        let side = |count: u32, first: f64| -> Vec<f64> {
            (0..count).map(|at| first + f64::from(at)).collect()
        };
        for count in [33, 600, 2000] {
            assert!(rank_sum_test(&side(count, 0.0), &side(count, f64::from(count))) < 1e-6);
            assert!(rank_sum_test(&side(count, 0.0), &side(count, 0.0)) > 0.9);
        }
        // On both sides of where the exact test ends.
        let of = |count: u32| rank_sum_test(&side(count, 0.0), &side(count, 5.5));
        assert!((of(32) - of(33)).abs() < 0.01, "{} {}", of(32), of(33));
        assert!((two_tails(1.959_964) - 0.05).abs() < 1e-6);
        assert_eq!(rank_sum_test(&[1.0; 50], &[1.0; 50]), 1.0);
    }

    #[test]
    fn few_rounds_cannot_differ() {
        assert!(!can_differ(2, 2) && !can_differ(2, 3) && !can_differ(1, 18));
        assert!(can_differ(3, 3) && can_differ(1, 19) && can_differ(2, 5));
    }

    #[test]
    fn what_the_spread_supports() {
        assert!(differ(&[1.1, 1.2, 1.3], &[0.9, 1.0, 1.05]));
        assert!(!differ(&[1.1, 1.2, 1.3], &[0.9, 1.15, 1.05]));
        // Apart, but by less than counts.
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
    fn a_verdict_needs_enough_pairs_that_agree() {
        assert_eq!(verdict(&[2.0; 4]), Verdict::TooFewPairs);
        assert_eq!(verdict(&[2.0; 5]), Verdict::Faster);
        assert_eq!(verdict(&[0.5; 5]), Verdict::Slower);
        assert_eq!(verdict(&[2.0, 2.0, 2.0, 2.0, 0.9]), Verdict::NoDifference);
        assert_eq!(verdict(&[2.0, 2.0, 2.0, 2.0, 1.0]), Verdict::NoDifference);
        assert_eq!(verdict(&[1.005; 10]), Verdict::NoDifference);
    }

    #[test]
    fn a_verdict_allows_one_dissenter_in_ten_but_not_two() {
        let mut gains = [1.5; 10];
        gains[3] = 0.9;
        assert_eq!(verdict(&gains), Verdict::Faster);
        gains[7] = 0.9;
        assert_eq!(verdict(&gains), Verdict::NoDifference);
    }
}
