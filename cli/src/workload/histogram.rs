//! Durations in buckets that double in width, each cut into eight equal parts: a quantile is right
//! to an eighth, and the maximum is exact.

const PARTS_BITS: u32 = 3;
const PARTS: u64 = 1 << PARTS_BITS;
const BUCKETS: usize = ((u64::BITS - PARTS_BITS + 1) as usize) << PARTS_BITS;

pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    total: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    pub fn new() -> Self {
        Histogram { counts: Box::new([0; BUCKETS]), total: 0, max_ns: 0 }
    }

    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine += theirs;
        }
        self.total += other.total;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The least value that a share `quantile` of all does not exceed, to the end of its bucket.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = ((self.total as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return last_value(index).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

/// Values below 8 have a bucket each; above, the leading bit picks eight buckets and the three
/// bits after it one of them.
#[inline]
fn bucket(value: u64) -> usize {
    if value < PARTS {
        return value as usize;
    }
    let shift = value.ilog2() - PARTS_BITS;
    (((u64::from(shift) + 1) << PARTS_BITS) + ((value >> shift) & (PARTS - 1))) as usize
}

fn last_value(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PARTS {
        return bucket;
    }
    let shift = (bucket >> PARTS_BITS) - 1;
    let first = (PARTS + (bucket & (PARTS - 1))) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another() {
        for index in 0..BUCKETS - 1 {
            let last = last_value(index);
            assert_eq!(bucket(last), index);
            assert_eq!(bucket(last + 1), index + 1);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(last_value(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn quantiles_are_right_to_an_eighth() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|ns| histogram.record(ns));
        for (quantile, exact) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0)] {
            let found = histogram.quantile_ns(quantile) as f64;
            assert!((exact..=exact * 1.125).contains(&found), "{quantile}: {found}");
        }
        assert_eq!(histogram.max_ns(), 1000);
    }

    #[test]
    fn merging_adds_up() {
        let (mut one, mut other) = (Histogram::new(), Histogram::new());
        one.record(1);
        other.record(5000);
        other.record(5000);
        one.merge(&other);
        assert_eq!((one.total, one.max_ns(), one.quantile_ns(0.3)), (3, 5000, 1));
        assert_eq!(one.quantile_ns(0.9), 5000);
    }

    #[test]
    fn an_empty_one_has_no_waits() {
        assert_eq!(Histogram::new().quantile_ns(0.99), 0);
    }
}
