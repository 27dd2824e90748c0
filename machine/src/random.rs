//! A small generator of random numbers (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014).

#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x5851_f42d_4c95_7f2d)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// `time` give or take a part of it.
    #[inline]
    pub(crate) fn about(&mut self, time: u64, part: f64) -> u64 {
        if part == 0.0 {
            return time;
        }
        let unit = (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        (time as f64 * (1.0 + part * unit)) as u64
    }
}
