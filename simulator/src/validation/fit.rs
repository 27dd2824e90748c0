//! Finds lengths of critical and other sections with which a simulated machine shows the same
//! throughputs as a program did under many locks, up to one factor: the program's unit.

/// A throughput for each lock; not a number where it is missing.
pub type Rates = Vec<f64>;

/// How far apart two shapes are: the standard deviation of the logarithms of their ratios. A factor
/// that all have in common makes no difference.
pub fn distance(measured: &[f64], simulated: &[f64]) -> f64 {
    let logs: Vec<f64> = measured
        .iter()
        .zip(simulated)
        .map(|(measured, simulated)| (simulated / measured).ln())
        .filter(|log| log.is_finite())
        .collect();
    if logs.len() < 2 {
        return f64::INFINITY;
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
    variance.sqrt()
}

/// How far measurements of the same thing are apart: medians of five runs, at best.
const NOISE: f64 = 0.05;

/// The candidates that explain a measurement, best first, at most `count`, with weights that add up
/// to 1: by their likelihood, if the logarithms have normal errors of that size.
pub fn best(measured: &[f64], candidates: &[Rates], count: usize) -> Vec<(usize, f64)> {
    let mut found: Vec<(usize, f64)> = candidates
        .iter()
        .enumerate()
        .map(|(index, simulated)| (index, distance(measured, simulated)))
        .filter(|(_, distance)| distance.is_finite())
        .collect();
    found.sort_by(|one, other| one.1.total_cmp(&other.1));
    found.truncate(count);
    let Some(&(_, least)) = found.first() else { return Vec::new() };
    let values = measured.iter().filter(|value| value.is_finite()).count() as f64;
    let likelihood = |distance: f64| {
        let excess = distance * distance - least * least;
        (-excess * values / (2.0 * NOISE * NOISE)).exp()
    };
    let sum: f64 = found.iter().map(|(_, distance)| likelihood(*distance)).sum();
    found.into_iter().map(|(index, distance)| (index, likelihood(distance) / sum)).collect()
}

/// The mean of the candidates' logarithms by weight, as a throughput.
pub fn mixed(weights: &[(usize, f64)], rates: impl Fn(usize) -> Rates) -> Rates {
    let mut logs: Vec<f64> = Vec::new();
    for (index, weight) in weights {
        let rates = rates(*index);
        logs.resize(rates.len(), 0.0);
        logs.iter_mut().zip(&rates).for_each(|(log, rate)| *log += weight * rate.ln());
    }
    logs.into_iter().map(f64::exp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_factor_is_no_distance() {
        assert!(distance(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]) < 1e-12);
        assert!(distance(&[1.0, 2.0], &[1.0, 4.0]) > 0.3);
        // What is missing doesn't count.
        assert!(distance(&[1.0, f64::NAN, 3.0], &[10.0, 1.0, 30.0]) < 1e-12);
    }

    #[test]
    fn the_nearest_explains_most() {
        let candidates = vec![vec![1.0, 2.0], vec![1.0, 1.0], vec![1.0, 1.05]];
        let found = best(&[2.0, 2.0], &candidates, 2);
        assert_eq!((found[0].0, found[1].0), (1, 2));
        assert!(found[0].1 > found[1].1);
        assert!((found[0].1 + found[1].1 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn mixing_is_geometric() {
        let rates = [vec![1.0, 9.0], vec![4.0, 1.0]];
        let mixed = mixed(&[(0, 0.5), (1, 0.5)], |index| rates[index].clone());
        assert!((mixed[0] - 2.0).abs() < 1e-12 && (mixed[1] - 3.0).abs() < 1e-12);
    }
}
