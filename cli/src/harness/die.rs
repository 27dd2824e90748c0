//! A die that falls on one side with a given probability: cheap, and the same throws for the same
//! seed.

pub struct Die {
    state: u64,
    /// The die falls if a throw is not above. Throws are evenly spread over 1..=u64::MAX.
    limit: u64,
}

impl Die {
    /// Each thread of the same seed has throws of its own.
    pub fn new(seed: u64, thread: u64, probability: f64) -> Self {
        // Neighbouring seeds must not give neighbouring states; and zero would stay zero.
        let state = mix(mix(seed).wrapping_add(thread)).max(1);
        Die { state, limit: (probability * u64::MAX as f64) as u64 }
    }

    #[inline]
    pub fn falls(&mut self) -> bool {
        self.throw() <= self.limit
    }

    /// A number below `sides`, all as likely as far as matters here.
    #[inline]
    pub fn below(&mut self, sides: usize) -> usize {
        // The low bits are no worse than the high ones, and a remainder's bias is 1 in 2^50.
        (self.throw() % sides as u64) as usize
    }

    /// Xorshift.
    #[inline]
    fn throw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

/// Splitmix's last step.
fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(seed: u64, thread: u64, probability: f64) -> f64 {
        const THROWS: u32 = 200_000;
        let mut die = Die::new(seed, thread, probability);
        f64::from((0..THROWS).map(|_| u32::from(die.falls())).sum::<u32>()) / f64::from(THROWS)
    }

    #[test]
    fn falls_as_often_as_it_should() {
        assert_eq!((share(1, 0, 0.0), share(1, 0, 1.0)), (0.0, 1.0));
        for (seed, thread) in [(0, 0), (1, 0), (1, 15)] {
            assert!((0.49..0.51).contains(&share(seed, thread, 0.5)));
            assert!((0.0006..0.0014).contains(&share(seed, thread, 0.001)));
        }
    }

    #[test]
    fn threads_throw_differently_but_repeatably() {
        assert_eq!(share(7, 3, 0.5), share(7, 3, 0.5));
        assert_ne!(share(7, 3, 0.5), share(7, 4, 0.5));
    }
}
