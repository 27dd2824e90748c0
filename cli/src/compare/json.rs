//! The document that `--json` writes: the machine, every sample, and the summary.

use std::path::Path;

use serde::Serialize;

use super::machine::Machine;
use super::noise::NoiseFilter;

#[derive(Serialize)]
pub struct Document<'a, Results> {
    version: &'static str,
    machine: &'a Machine,
    /// The library that furwock's side was started with.
    preload: &'a Path,
    noisy_pairs: &'a NoiseFilter,
    #[serde(flatten)]
    results: Results,
}

impl<'a, Results: Serialize> Document<'a, Results> {
    pub fn new(
        machine: &'a Machine,
        preload: &'a Path,
        noisy_pairs: &'a NoiseFilter,
        results: Results,
    ) -> Self {
        Document { version: env!("CARGO_PKG_VERSION"), machine, preload, noisy_pairs, results }
    }
}
