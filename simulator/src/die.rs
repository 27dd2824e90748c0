//! A die: cheap, and the same throws for the same seed.

pub struct Die {
    state: u64,
}

impl Die {
    /// Each thread of the same seed has throws of its own.
    pub fn new(seed: u64, thread: u64) -> Self {
        // Neighbouring seeds must not give neighbouring states; and zero would stay zero.
        Die { state: mixed(mixed(seed).wrapping_add(thread)).max(1) }
    }

    /// A number below `sides`, all as likely as far as matters here.
    pub fn below(&mut self, sides: usize) -> usize {
        (self.throw() % sides as u64) as usize
    }

    /// Between 0 and 1.
    pub fn share(&mut self) -> f64 {
        (self.throw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Xorshift.
    fn throw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

/// Splitmix's last step.
pub fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_spread_evenly() {
        let mut die = Die::new(1, 15);
        let mean = (0..100_000).map(|_| die.share()).sum::<f64>() / 1e5;
        assert!((0.49..0.51).contains(&mean), "{mean}");
        let sixes = (0..60_000).filter(|_| die.below(6) == 5).count();
        assert!((9_500..10_500).contains(&sixes), "{sixes}");
    }

    #[test]
    fn threads_throw_differently_but_repeatably() {
        let throws = |thread| {
            let mut die = Die::new(7, thread);
            [die.share(), die.share()]
        };
        assert_eq!(throws(3), throws(3));
        assert_ne!(throws(3), throws(4));
    }
}
