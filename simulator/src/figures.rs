//! What a run measured, and how the orders of two runs agree.

use std::collections::BTreeMap;

/// Figures by name.
pub type Figures = BTreeMap<String, f64>;

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
