//! What was measured, by name.

use std::collections::BTreeMap;

use crate::statistics;

/// Nanoseconds, a value for each round.
#[derive(Default)]
pub struct Samples(BTreeMap<String, Vec<f64>>);

impl Samples {
    /// Nothing is added if nothing was measured.
    pub fn add(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.0.entry(name.into()).or_default().push(value);
        }
    }

    pub fn median(&self, name: &str) -> Option<f64> {
        self.0.get(name).map(|values| statistics::median(values))
    }

    /// Adds what another round measured.
    pub fn merge(&mut self, round: Samples) {
        for (name, values) in round.0 {
            self.0.entry(name).or_default().extend(values);
        }
    }
}

/// The median of what a round took of it; nothing of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| statistics::median(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_have_a_median() {
        let mut samples = Samples::default();
        [Some(3.0), None, Some(1.0), Some(f64::NAN)].into_iter().for_each(|v| samples.add("a", v));
        let mut round = Samples::default();
        round.add("a", Some(9.0));
        samples.merge(round);
        assert_eq!((samples.median("a"), samples.median("b")), (Some(3.0), None));
        assert_eq!(median(&[]), None);
    }
}
