//! The document that `--json` writes: the machine, every sample, and the summary.

use std::path::Path;

use serde::Serialize;

use super::machine::Machine;

#[derive(Serialize)]
pub struct Document<'a, Results> {
    version: &'static str,
    /// The words after `furwock`.
    command: Vec<String>,
    machine: &'a Machine,
    /// The library that was preloaded, if any.
    preload: Option<&'a Path>,
    #[serde(flatten)]
    results: Results,
}

impl<'a, Results: Serialize> Document<'a, Results> {
    pub fn new(machine: &'a Machine, preload: Option<&'a Path>, results: Results) -> Self {
        let command = std::env::args_os().skip(1);
        let command = command.map(|word| word.to_string_lossy().into_owned()).collect();
        Document { version: env!("CARGO_PKG_VERSION"), command, machine, preload, results }
    }
}
