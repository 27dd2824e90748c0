//! A benchmark: one workload at several sizes, who takes part, and which figures tell.

use serde::{Serialize, Serializer};

use super::contestant::Contestant;
use super::figure::Figure;

/// What is to be run, and what to be shown of it.
pub struct Benchmark {
    pub name: &'static str,
    /// For a heading.
    pub title: &'static str,
    pub workload: &'static str,
    /// Is it told how many turns to take, and not how long?
    pub counts_turns: bool,
    /// Does the workload draw lots? All contestants get the same ones, others in each round.
    pub draws: bool,
    /// What the cases' names say, for people.
    pub case_key: &'static str,
    /// What the threads do, for the page.
    pub what: &'static str,
    /// Each becomes a table. By the first contestants are ranked.
    pub figures: &'static [Figure],
    pub cases: Vec<Case>,
    /// Who can do it; others are told apart as absent.
    pub able: &'static [Contestant],
    /// What those lack who aren't among them.
    pub lacking: &'static str,
    /// Why one of them can't do one of the cases, if so.
    pub unable: fn(&Case, Contestant) -> Option<String>,
}

/// A case: the workload at one size.
#[derive(Serialize, Clone)]
pub struct Case {
    pub name: String,
    #[serde(serialize_with = "as_map")]
    pub parameters: Vec<(&'static str, f64)>,
    /// Operations a second that nothing can exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Its place in a picture.
    #[serde(skip)]
    pub place: Place,
}

/// Cases of one series differ in one number, and become one curve.
#[derive(Clone, Default)]
pub struct Place {
    pub series: String,
    pub x: f64,
    pub x_title: &'static str,
}

/// Parameters that are numbers of threads, and how many threads each is.
const THREADS: [(&str, f64); 6] = [
    ("threads", 1.0),
    ("nwakers", 1.0),
    ("producers", 1.0),
    ("consumers", 1.0),
    ("games", 2.0),
    ("pairs", 2.0),
];

impl Case {
    /// How many threads it starts.
    pub fn threads(&self) -> f64 {
        THREADS.iter().filter_map(|(name, each)| Some(self.parameter(name)? * each)).sum()
    }

    pub fn parameter(&self, name: &str) -> Option<f64> {
        self.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

fn as_map<S: Serializer>(pairs: &[(&str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// For benchmarks whose contestants can do all the cases.
pub fn all_able(_case: &Case, _contestant: Contestant) -> Option<String> {
    None
}

/// The list that was given, or the grid's.
pub fn or_default<T: Copy>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default.to_vec() } else { given.to_vec() }
}
