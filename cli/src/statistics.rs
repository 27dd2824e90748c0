//! Statistics as pure functions.

use serde::Serialize;

/// The sign test's level: five pairs that all point the same way reach it just so.
const SIGNIFICANCE: f64 = 1.0 / 16.0;
/// Fewer pairs cannot reach it.
pub const PAIRS_MIN: usize = 5;
/// A median closer to 1 than this is no difference that anybody would notice.
const NOTICEABLE: f64 = 0.01;

/// Five numbers that stand for many.
#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
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
