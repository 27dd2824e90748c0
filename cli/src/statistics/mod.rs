//! Statistics as pure functions.

pub mod gain;
mod ranks;

pub use gain::{Gain, Interval, Pairs, Verdict, can_differ};

use serde::{Deserialize, Serialize};

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

/// Of at least one value.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample's; none of a single value.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
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
    fn means_and_deviations() {
        assert_eq!(
            (mean(&[1.0, 2.0, 6.0]), standard_deviation(&[1.0, 3.0])),
            (3.0, Some(2f64.sqrt()))
        );
        assert_eq!(standard_deviation(&[1.0]), None);
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
}
