//! A benchmark: one workload at several sizes, the contestants, and the figures that are shown.

use serde::{Serialize, Serializer};

use super::figure::Figure;
use crate::contestants::Contestant;

/// What is to be run, and what to be shown of it.
pub struct Benchmark {
    pub name: &'static str,
    /// For a heading.
    pub title: &'static str,
    pub workload: &'static str,
    /// Does a round last for a number of turns instead of a time?
    pub counts_turns: bool,
    /// Does the workload draw random numbers? They differ between rounds, not between contestants.
    pub draws: bool,
    /// What the cases' names mean, for people.
    pub case_key: &'static str,
    /// What the threads do, for the page.
    pub what: &'static str,
    /// Each becomes a table. The first ranks the contestants.
    pub figures: Vec<Figure>,
    pub cases: Vec<Case>,
    /// The contestants that can run it; others are listed as absent.
    pub able: Vec<Contestant>,
    /// What those others lack.
    pub lacking: &'static str,
    /// Why an able one can't run one of the cases, if so.
    pub unable: fn(&Case, Contestant) -> Option<String>,
}

impl Benchmark {
    /// A benchmark of the workload of its name, with nothing else said yet.
    pub fn named(name: &'static str) -> Self {
        Benchmark {
            name,
            title: "",
            workload: name,
            counts_turns: false,
            draws: false,
            case_key: "",
            what: "",
            figures: Vec::new(),
            cases: Vec::new(),
            able: Vec::new(),
            lacking: "",
            unable: |_, _| None,
        }
    }

    /// The benchmark on process-shared words, if they are asked for; `able` can use those.
    pub fn shared_if(mut self, shared: bool, able: Vec<Contestant>) -> Self {
        if shared {
            self.cases.iter_mut().for_each(|case| case.parameters.push(("shared", 1.0)));
            (self.able, self.lacking) = (able, "waits on process-shared words");
        }
        self
    }
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

impl Place {
    pub fn new(series: impl Into<String>, x: impl Into<f64>, x_title: &'static str) -> Self {
        Place { series: series.into(), x: x.into(), x_title }
    }
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
    pub fn new<const N: usize>(
        name: impl Into<String>,
        parameters: [(&'static str, f64); N],
        place: Place,
    ) -> Self {
        Case { name: name.into(), parameters: parameters.into(), bound: None, place }
    }

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
