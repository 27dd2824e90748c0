//! A die: cheap, and the same throws for the same seed.

use crate::harness::Random;

pub struct Die(Random);

impl Die {
    /// Each thread of the same seed has throws of its own.
    pub fn new(seed: u64, thread: u64) -> Self {
        Die(Random::new(seed, thread, 0.0))
    }

    /// Between 0 and 1.
    pub fn share(&mut self) -> f64 {
        (self.0.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_spread_evenly() {
        let mut die = Die::new(1, 15);
        let mean = (0..100_000).map(|_| die.share()).sum::<f64>() / 1e5;
        assert!((0.49..0.51).contains(&mean), "{mean}");
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
