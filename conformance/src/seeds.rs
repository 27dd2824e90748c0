//! Numbers from the environment, and seeds of random tests.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher, Hasher};

/// The environment's number of this name, in decimal or with `0x`.
pub fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// The seed that the environment gives by this name, or else a random one.
pub fn seed(name: &str) -> u64 {
    number(name).unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 16)
}

/// Draws what `seed` says.
pub(crate) fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
