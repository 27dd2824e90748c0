//! What came of a case, and how a process tells another of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::figures::Figures;

#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Outcome {
    pub case: Case,
    /// Empty if the case failed.
    pub figures: Figures,
    /// The hash of all that happened: the same for the same case.
    pub trace: String,
    /// What it took on the host.
    pub host_s: f64,
    pub failure: Option<String>,
    /// The constants that furwock's code asked for, with their own values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, u64>,
}

impl Outcome {
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    /// Operations a second; 0 if the case failed.
    pub fn rate(&self) -> f64 {
        self.figure("ops_per_second").unwrap_or_default()
    }

    pub fn failed(case: &Case, failure: String) -> Self {
        Outcome {
            case: case.clone(),
            figures: Figures::new(),
            trace: String::new(),
            host_s: 0.0,
            failure: Some(failure),
            used: BTreeMap::new(),
        }
    }
}
