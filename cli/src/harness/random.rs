//! Random draws: cheap, and the same for the same seed.

pub struct Random {
    state: u64,
    /// `chance` is true up to this number. Numbers are evenly spread over 1..=u64::MAX.
    limit: u64,
}

impl Random {
    /// `probability` is that of `chance`. Threads with the same seed draw different numbers.
    pub fn new(seed: u64, thread: u64, probability: f64) -> Self {
        // Neighbouring seeds must not give neighbouring states; and zero would stay zero.
        let state = mix(mix(seed).wrapping_add(thread)).max(1);
        Random { state, limit: (probability * u64::MAX as f64) as u64 }
    }

    #[inline]
    pub fn chance(&mut self) -> bool {
        self.draw() <= self.limit
    }

    /// A number below `end`.
    #[inline]
    pub fn below(&mut self, end: usize) -> usize {
        // The low bits are no worse than the high ones, and the remainder's bias is at most 2^-40.
        (self.draw() % end as u64) as usize
    }

    /// Xorshift.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

/// Splitmix's last step.
pub fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(seed: u64, thread: u64, probability: f64) -> f64 {
        const DRAWS: u32 = 200_000;
        let mut random = Random::new(seed, thread, probability);
        f64::from((0..DRAWS).map(|_| u32::from(random.chance())).sum::<u32>()) / f64::from(DRAWS)
    }

    #[test]
    fn chances_come_as_often_as_they_should() {
        assert_eq!((share(1, 0, 0.0), share(1, 0, 1.0)), (0.0, 1.0));
        for (seed, thread) in [(0, 0), (1, 0), (1, 15)] {
            assert!((0.49..0.51).contains(&share(seed, thread, 0.5)));
            assert!((0.0006..0.0014).contains(&share(seed, thread, 0.001)));
        }
    }

    #[test]
    fn numbers_below_an_end_come_equally_often() {
        let mut random = Random::new(1, 15, 0.0);
        let sixes = (0..60_000).filter(|_| random.below(6) == 5).count();
        assert!((9_500..10_500).contains(&sixes), "{sixes}");
    }

    #[test]
    fn threads_draw_differently_but_repeatably() {
        assert_eq!(share(7, 3, 0.5), share(7, 3, 0.5));
        assert_ne!(share(7, 3, 0.5), share(7, 4, 0.5));
    }
}
