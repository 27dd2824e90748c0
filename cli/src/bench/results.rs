//! What was measured.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::benchmark::{Benchmark, Case};
use super::figure::JAIN;
use super::roster::Absent;
use super::standing::{CaseSpeeds, Mean, Speeds, Standing};
use crate::contestants::Contestant;
use crate::measuring::workload_run::Run;
use crate::statistics::Spread;

/// All that is known of a benchmark.
pub struct BenchmarkResults {
    pub benchmark: Benchmark,
    pub contestants: Vec<Contestant>,
    pub absent: Vec<Absent>,
    /// How long a round measured, and how many were wanted.
    pub seconds: f64,
    pub rounds: usize,
    pub cases: Vec<CaseResults>,
}

/// All that is known of a case.
#[derive(Serialize)]
pub struct CaseResults {
    #[serde(flatten)]
    pub case: Case,
    /// In the contestants' order.
    #[serde(rename = "results")]
    pub entries: Vec<Entry>,
}

/// One contestant in one case.
pub struct Entry {
    pub contestant: Contestant,
    pub runs: Vec<Run>,
    /// An entry that failed is not run again.
    pub failure: Option<String>,
    /// Why it can't run this case, if so: then it is not run at all.
    pub unable: Option<String>,
    /// Rounds that may still be dropped as noisy.
    pub retries_left: usize,
}

impl Entry {
    pub fn new(contestant: Contestant, unable: Option<String>, retries_left: usize) -> Self {
        Entry { contestant, runs: Vec::new(), failure: None, unable, retries_left }
    }

    /// A figure of each round that has it. An entry that failed has none: the implementation
    /// doesn't work.
    pub fn values(&self, figure: &str) -> Vec<f64> {
        if self.failure.is_some() { Vec::new() } else { self.all(figure) }
    }

    /// The same with what an entry measured before it failed.
    pub fn all(&self, figure: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.report.figures.get(figure).copied()).collect()
    }

    /// Over the rounds; none if no round has the figure.
    pub fn spread(&self, figure: &str) -> Option<Spread> {
        let values = self.values(figure);
        (!values.is_empty()).then(|| Spread::of(&values))
    }

    pub fn median(&self, figure: &str) -> Option<f64> {
        self.spread(figure).map(|spread| spread.median)
    }

    /// Of every figure that any round has.
    pub fn spreads(&self) -> BTreeMap<&str, Spread> {
        let names: BTreeSet<&str> = self
            .runs
            .iter()
            .flat_map(|run| run.report.figures.keys().map(String::as_str))
            .collect();
        names.into_iter().filter_map(|name| Some((name, self.spread(name)?))).collect()
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Entry", 5)?;
        object.serialize_field("impl", &self.contestant)?;
        object.serialize_field("rounds", &self.runs)?;
        object.serialize_field("failure", &self.failure)?;
        object.serialize_field("unable", &self.unable)?;
        object.serialize_field("figures", &self.spreads())?;
        object.end()
    }
}

impl CaseResults {
    pub fn entry(&self, contestant: Contestant) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.contestant == contestant)
    }
}

impl BenchmarkResults {
    pub fn new(
        benchmark: Benchmark,
        contestants: Vec<Contestant>,
        absent: Vec<Absent>,
        (seconds, rounds): (f64, usize),
        retries: usize,
    ) -> Self {
        let entries = |case: &Case| -> Vec<Entry> {
            let entry = |contestant: &Contestant| {
                Entry::new(*contestant, (benchmark.unable)(case, *contestant), retries)
            };
            contestants.iter().map(entry).collect()
        };
        let of_case = |case: &Case| CaseResults { case: case.clone(), entries: entries(case) };
        let cases = benchmark.cases.iter().map(of_case).collect();
        BenchmarkResults { benchmark, contestants, absent, seconds, rounds, cases }
    }

    pub fn case(&self, name: &str) -> Option<&CaseResults> {
        self.cases.iter().find(|results| results.case.name == name)
    }

    /// Every entry, with its case.
    pub fn entries(&self) -> impl Iterator<Item = (&Case, &Entry)> {
        self.cases
            .iter()
            .flat_map(|results| results.entries.iter().map(move |entry| (&results.case, entry)))
    }

    /// How fast each was, by the figure that ranks.
    pub fn speeds(&self) -> Speeds<'_> {
        let rank = &self.benchmark.figures[0];
        let of_entry = |entry: &Entry| -> Vec<f64> {
            entry.values(rank.name).into_iter().map(|value| rank.speed(value)).collect()
        };
        // Where it isn't shown, it says nothing: threads don't compete.
        let fairness = self.benchmark.figures.iter().find(|figure| figure.name == JAIN.name);
        let jain = |entry: &Entry| entry.median(fairness?.name);
        let of_case = |results: &CaseResults| CaseSpeeds {
            case: results.case.name.clone(),
            speeds: results.entries.iter().map(of_entry).collect(),
            jain: results.entries.iter().map(jain).collect(),
        };
        Speeds { contestants: &self.contestants, cases: self.cases.iter().map(of_case).collect() }
    }

    pub fn failed(&self) -> bool {
        self.entries().any(|(_, entry)| entry.failure.is_some())
    }

    /// A line for each failure.
    pub fn failures(&self) -> String {
        let line = |(case, entry): (&Case, &Entry)| {
            let reason = entry.failure.as_ref()?;
            let (benchmark, contestant) = (self.benchmark.name, entry.contestant);
            Some(format!("FAILED: {benchmark} {} with {contestant}: {reason}\n", case.name))
        };
        self.entries().filter_map(line).collect()
    }

    /// Which contestants can't run which cases, each reason once.
    pub fn inabilities(&self) -> String {
        let mut known: Vec<(Contestant, &str)> = Vec::new();
        let mut text = String::new();
        for (case, entry) in self.entries() {
            let Some(reason) = entry.unable.as_deref() else { continue };
            let (contestant, case) = (entry.contestant, &case.name);
            if !known.contains(&(contestant, reason)) {
                known.push((contestant, reason));
                text += &format!("-: {contestant} can't run {case} and the like: {reason}\n");
            }
        }
        text
    }
}

impl Serialize for BenchmarkResults {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            name: &'a str,
            seconds: f64,
            rounds: usize,
            absent: &'a [Absent],
            cases: &'a [CaseResults],
            standings: Vec<Standing>,
            means: Vec<Mean>,
        }
        let speeds = self.speeds();
        Shown {
            name: self.benchmark.name,
            seconds: self.seconds,
            rounds: self.rounds,
            absent: &self.absent,
            cases: &self.cases,
            standings: speeds.standings(),
            means: speeds.means(),
        }
        .serialize(serializer)
    }
}
