//! What a run measured: waits, fairness, and the costs of an operation.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

/// Figures by name.
pub type Figures = BTreeMap<String, f64>;

/// An hour, in nanoseconds: longer waits count as this long.
const LONGEST: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 2;

/// How long operations waited: quantiles to 1 %, and the exact maximum.
pub struct Waits {
    histogram: Histogram<u64>,
    max_ns: u64,
}

impl Default for Waits {
    fn default() -> Self {
        let histogram = Histogram::new_with_max(LONGEST, SIGNIFICANT_DIGITS);
        Waits { histogram: histogram.expect("valid bounds"), max_ns: 0 }
    }
}

impl Waits {
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// The figures; their names begin with `prefix`.
    pub fn figures(&self, prefix: &str) -> Figures {
        let quantile = |share| self.histogram.value_at_quantile(share).min(self.max_ns);
        let named = [
            ("wait_p50_s", quantile(0.5)),
            ("wait_p99_s", quantile(0.99)),
            ("wait_p999_s", quantile(0.999)),
            ("wait_max_s", self.max_ns),
        ];
        named.map(|(name, ns)| (format!("{prefix}{name}"), ns as f64 / 1e9)).into()
    }
}

/// Jain's fairness index: 1 if all got the same, 1/n if one got everything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

/// The ranks of values, from 1; values that tie share their mean rank.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Spearman's rank correlation: that of the ranks. None if one side has no order.
pub fn spearman(ones: &[f64], others: &[f64]) -> Option<f64> {
    let (ones, others) = (ranks(ones), ranks(others));
    let mean = |ranks: &[f64]| ranks.iter().sum::<f64>() / ranks.len() as f64;
    let (mean_one, mean_other) = (mean(&ones), mean(&others));
    let mut sums = [0.0; 3];
    for (one, other) in ones.iter().zip(&others) {
        let (one, other) = (one - mean_one, other - mean_other);
        sums[0] += one * other;
        sums[1] += one * one;
        sums[2] += other * other;
    }
    (sums[1] > 0.0 && sums[2] > 0.0).then(|| sums[0] / (sums[1] * sums[2]).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_hundredth_and_the_maximum_is_exact() {
        let mut waits = Waits::default();
        (1..=100_001).for_each(|ns| waits.record(ns));
        let figures = waits.figures("read_");
        for (name, exact) in [("p50", 50e-6), ("p99", 99e-6), ("p999", 99.9e-6)] {
            let found = figures[&format!("read_wait_{name}_s")];
            assert!((exact..=exact * 1.01).contains(&found), "{name}: {found}");
        }
        assert_eq!(figures["read_wait_max_s"], 100_001.0 / 1e9);
    }

    #[test]
    fn fairness_is_jains() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[6.0, 0.0, 0.0]), 1.0 / 3.0);
    }

    #[test]
    fn rank_correlation_knows_order_only() {
        let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
        assert!(near(spearman(&[1.0, 2.0, 3.0], &[1.0, 10.0, 1000.0]), 1.0));
        assert!(near(spearman(&[1.0, 2.0, 3.0], &[9.0, 5.0, 2.0]), -1.0));
        assert!(near(spearman(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]), 0.8));
        // Ties share their rank.
        assert_eq!(ranks(&[5.0, 5.0, 1.0]), [2.5, 2.5, 1.0]);
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
