//! As much of the crate `rand` as the tests use.

use std::hash::{BuildHasher, Hasher, RandomState};

pub struct ThreadRng(u64);

pub fn thread_rng() -> ThreadRng {
    ThreadRng(RandomState::new().build_hasher().finish() | 1)
}

pub trait Rng {
    fn random_bool(&mut self, probability: f64) -> bool;

    /// The name that it had before.
    fn gen_bool(&mut self, probability: f64) -> bool {
        self.random_bool(probability)
    }
}

impl Rng for ThreadRng {
    /// xorshift.
    fn random_bool(&mut self, probability: f64) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64) < probability * (1_u64 << 53) as f64
    }
}
