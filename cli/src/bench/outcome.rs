//! What a run's results become: tables, JSON, CSV, a page, an exit status.

use std::path::Path;

use serde::Serialize;

use super::baseline::{Baseline, Change};
use super::page;
use super::results::BenchmarkResults;
use super::roster::Roster;
use super::suite::{Effort, Suite};
use super::{csv, figure_table};
use crate::contestants::Contestant;
use crate::failure::{Failure, STATUS_FAILED};
use crate::measuring::STATUS_INTERRUPTED;
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::Outputs;
use crate::measuring::table;
use crate::report::model::{Finding, Page, Section, Tone};
use crate::statistics::can_differ;

pub struct Outcome<'a> {
    /// The command's name.
    title: String,
    pub machine: Machine,
    pub suite: Suite,
    outputs: &'a Outputs,
    changes: Vec<Change>,
    /// Shown first.
    pub answer: Answer,
}

/// What a suite shows beyond its benchmarks.
#[derive(Default)]
pub struct Answer {
    pub text: String,
    pub findings: Vec<Finding>,
    pub sections: Vec<Section>,
    pub json: serde_json::Value,
    /// Does its text replace the benchmarks' own tables?
    pub instead_of_tables: bool,
    /// How it was measured, if otherwise than rounds are.
    pub method: Vec<String>,
}

#[derive(Serialize)]
struct Shown<'a> {
    interrupted: bool,
    loops_per_us: f64,
    noisy_rounds: &'a NoiseFilter,
    benchmarks: &'a [BenchmarkResults],
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    answer: &'a serde_json::Value,
    #[serde(skip_serializing_if = "<[Change]>::is_empty")]
    changes: &'a [Change],
}

impl<'a> Outcome<'a> {
    pub fn new(
        title: &str,
        suite: Suite,
        outputs: &'a Outputs,
        baseline: Option<&Baseline>,
    ) -> Self {
        let changes = baseline.map_or(Vec::new(), |baseline| baseline.changes(&suite.benchmarks));
        Outcome {
            title: title.to_owned(),
            machine: Machine::this(),
            suite,
            outputs,
            changes,
            answer: Answer::default(),
        }
    }

    /// Returns the exit status.
    pub fn write(&self) -> Result<i32, Failure> {
        let benchmarks = &self.suite.benchmarks;
        let results = Shown {
            interrupted: self.suite.interrupted,
            loops_per_us: self.suite.workloads.loops_per_us,
            noisy_rounds: &self.suite.noise,
            benchmarks,
            answer: &self.answer.json,
            changes: &self.changes,
        };
        let document = Document::new(&self.machine, self.suite.roster.preload_path(), results);
        let csv = |path: &Path| csv::write(path, benchmarks);
        self.outputs.write(&self.text(), csv, || self.page(), &document)?;
        Ok(match self.suite.interrupted {
            true => STATUS_INTERRUPTED,
            false if benchmarks.iter().any(BenchmarkResults::failed) => STATUS_FAILED,
            false => 0,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.machine);
        text += &self.answer.text;
        if !self.answer.instead_of_tables {
            self.suite.benchmarks.iter().for_each(|results| text += &tables(results));
        }
        if !self.changes.is_empty() {
            text += &format!("{}\n", super::baseline::render(&self.changes));
        }
        text += &self.notes();
        text
    }

    /// Failures, absent contestants, warnings, noise: a line each.
    fn notes(&self) -> String {
        let mut text = String::new();
        let mut absent = Vec::new();
        for results in &self.suite.benchmarks {
            text += &results.failures();
            text += &results.inabilities();
            for each in &results.absent {
                let line = format!("absent: {}: {}\n", each.contestant, each.reason);
                if !absent.contains(&line) {
                    absent.push(line);
                }
            }
        }
        text += &absent.concat();
        let runs_of = |contestant| {
            let cases = self.suite.benchmarks.iter().flat_map(|results| &results.cases);
            cases.filter_map(move |results| results.entry(contestant)).flat_map(|entry| &entry.runs)
        };
        for ours in [Contestant::FurwockPreload, Contestant::FurwockRecording] {
            text += &self.suite.roster.not_replaced(ours, runs_of(ours));
        }
        text += &Roster::not_glibc(runs_of(Contestant::Glibc));
        if std::env::var_os("FURWOCK_FUTEX").is_some_and(|value| value == "0") {
            text +=
                "Warning: FURWOCK_FUTEX is 0: furwock-preload's waits on words use the kernel.\n";
        }
        let Effort { rounds, paired, .. } = self.suite.effort;
        if let Some(noise) = self.suite.noise.summary(if paired { "pairs" } else { "rounds" }) {
            text += &format!("{noise}\n");
        }
        if !paired && !can_differ(rounds, rounds) {
            text += &format!(
                "Too few rounds to show a difference ({rounds}): all ratios have a ~. Use at least \
                 3.\n"
            );
        }
        if self.suite.interrupted {
            text += "Interrupted: these are the results until then.\n";
        }
        text
    }

    fn page(&self) -> Page {
        let benchmarks = &self.suite.benchmarks;
        let mut summary = self.answer.findings.clone();
        // Without an answer the benchmarks' own findings are the summary.
        if summary.is_empty() {
            summary.extend(benchmarks.iter().flat_map(page::findings));
        }
        let mut warnings = Vec::new();
        let warning = |text: &str| Finding { tone: Tone::Loss, text: text.to_owned() };
        if self.suite.interrupted {
            warnings.push(warning("Interrupted: these are the results until then."));
        }
        // Means and counts leave out contestants that failed.
        let failures = benchmarks.iter().map(BenchmarkResults::failures).collect::<String>();
        warnings.extend(failures.lines().map(warning));
        summary.splice(0..0, warnings);
        let mut sections = self.answer.sections.clone();
        if !self.changes.is_empty() {
            sections.push(super::baseline::section(&self.changes));
        }
        sections.extend(benchmarks.iter().map(page::section));
        let method = &self.answer.method;
        let method = if method.is_empty() { page::method() } else { method.clone() };
        let notes = self.notes();
        let text = method.into_iter().chain(notes.lines().map(str::to_owned)).collect();
        sections.push(Section::new("How we measured", text, Vec::new()));
        let title = format!("furwock {}", self.title);
        Page { title, provenance: self.machine.provenance(), summary, sections }
    }
}

/// Wider tables are folded.
const TEXT_COLUMNS: usize = 120;

/// A benchmark's tables.
fn tables(results: &BenchmarkResults) -> String {
    if results.contestants.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{}: medians of up to {} rounds{}.\n{}\n\n",
        results.benchmark.name,
        results.rounds,
        if results.benchmark.counts_turns {
            String::new()
        } else {
            format!(" of {} s", results.seconds)
        },
        results.benchmark.case_key
    );
    for figure in results.benchmark.figures.iter().filter(|figure| !figure.detail) {
        if let Some(table) = figure_table::table(figure, results, Contestant::heading) {
            let table = table::folded(1, TEXT_COLUMNS, &table);
            text += &format!("{}\n{table}\n", figure.heading());
        }
    }
    text += &results.speeds().render();
    text += "\n";
    text
}
