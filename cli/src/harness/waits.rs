//! How long operations waited: percentiles to 1 %, and the exact maximum.

use std::time::Instant;

use hdrhistogram::Histogram;

use super::report::Figures;

/// An hour, in nanoseconds: longer waits count as this long.
const LONGEST: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 2;

pub struct Waits {
    histogram: Histogram<u64>,
    /// The histogram's own maximum is the end of a bucket.
    max_ns: u64,
}

impl Default for Waits {
    fn default() -> Self {
        let histogram = Histogram::new_with_max(LONGEST, SIGNIFICANT_DIGITS);
        Waits { histogram: histogram.expect("valid bounds"), max_ns: 0 }
    }
}

impl Waits {
    /// A wait that began at `start` and ends now.
    #[inline]
    pub fn record(&mut self, start: Instant) {
        self.record_ns(start.elapsed().as_nanos() as u64);
    }

    #[inline]
    pub fn record_ns(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn add(&mut self, other: &Waits) {
        self.histogram.add(&other.histogram).expect("the same bounds");
        self.max_ns = self.max_ns.max(other.max_ns);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_hundredth_and_the_maximum_is_exact() {
        let mut waits = Waits::default();
        (1..=100_001).for_each(|ns| waits.record_ns(ns));
        let figures = waits.figures("read_");
        for (name, exact) in [("p50", 50e-6), ("p99", 99e-6), ("p999", 99.9e-6)] {
            let found = figures[&format!("read_wait_{name}_s")];
            assert!((exact..=exact * 1.01).contains(&found), "{name}: {found}");
        }
        assert_eq!(figures["read_wait_max_s"], 100_001.0 / 1e9);
    }

    #[test]
    fn adding_keeps_all() {
        let (mut one, mut other) = (Waits::default(), Waits::default());
        one.record_ns(1);
        other.record_ns(5001);
        other.record_ns(5001);
        one.add(&other);
        let figures = one.figures("");
        assert_eq!((one.histogram.len(), figures["wait_p50_s"]), (3, 5001.0 / 1e9));
        assert_eq!(figures["wait_max_s"], 5001.0 / 1e9);
    }

    #[test]
    fn without_records_waits_are_zero() {
        assert_eq!(Waits::default().figures("")["wait_p99_s"], 0.0);
    }
}
