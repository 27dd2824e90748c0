//! What a run's results become: tables, JSON, CSV, a page, an exit status.

use std::path::Path;

use anstyle::{AnsiColor, Style};
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
use crate::measuring::layout::{self, Columns};
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::Outputs;
use crate::measuring::tally::counted;
use crate::measuring::width::width;
use crate::report::model::{Finding, Page, Section, Tally};
use crate::statistics::can_differ;
use crate::statistics::gain::ROUNDS_MIN;

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
    /// The last sentence, if it isn't that of the benchmarks.
    pub conclusion: String,
    /// Its first sentence on the page, and what it counts, if it does.
    pub verdict: Option<Finding>,
    pub tally: Option<Tally>,
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
        let width = width();
        let mut text = layout::wrapped(width, &self.machine.to_string());
        let alarm = self.alarm();
        if let Some(alarm) = &alarm {
            text += &format!("\n{}", loud(&layout::wrapped(width, alarm)));
        }
        text += &self.answer.text;
        if !self.answer.instead_of_tables {
            self.suite.benchmarks.iter().for_each(|results| text += &tables(results, width));
        }
        if !self.changes.is_empty() {
            text += &format!("{}\n", super::baseline::render(&self.changes, width));
        }
        text += &layout::wrapped(width, &self.notes());
        let conclusion = self.conclusion();
        if !conclusion.is_empty() {
            let busy = if alarm.is_some() { ON_A_BUSY_MACHINE } else { "" };
            text += &format!("\n{}", layout::wrapped(width, &format!("{busy}{conclusion}")));
        }
        text
    }

    fn counts(&self) -> &'static str {
        if self.suite.effort.paired { "pair" } else { "round" }
    }

    fn alarm(&self) -> Option<String> {
        self.suite.noise.alarm(self.counts())
    }

    /// What the run showed, in a sentence, or one for each benchmark.
    fn conclusion(&self) -> String {
        if !self.answer.conclusion.is_empty() {
            return self.answer.conclusion.clone();
        }
        let sentences = self.suite.benchmarks.iter().map(page::conclusion);
        sentences.collect::<Vec<_>>().join("\n")
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
            text += "Warning: FURWOCK_FUTEX is 0: the kernel refuses furwock-preload's waits on words.\n";
        }
        let Effort { rounds, paired, .. } = self.suite.effort;
        if let Some(noise) = self.suite.noise.summary(self.counts()) {
            text += &format!("{noise}\n");
        }
        if !paired && !can_differ(rounds) {
            text += &format!(
                "{} can't show a difference: all ratios have a ?. Use at least {ROUNDS_MIN}.\n",
                counted(rounds, "round")
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
        warnings.extend(self.alarm());
        if self.suite.interrupted {
            warnings.push("Interrupted: these are the results until then.".to_owned());
        }
        // Means and counts leave out contestants that failed.
        let failures = benchmarks.iter().map(BenchmarkResults::failures).collect::<String>();
        warnings.extend(failures.lines().map(str::to_owned));
        let mut sections = self.answer.sections.clone();
        if !self.changes.is_empty() {
            sections.push(super::baseline::section(&self.changes));
        }
        sections.extend(benchmarks.iter().map(page::section));
        let method = &self.answer.method;
        let method = if method.is_empty() { page::method() } else { method.clone() };
        let notes = self.notes();
        let text = method.into_iter().chain(notes.lines().map(str::to_owned)).collect();
        sections.push(Section::new("How we measured", text, Vec::new()).folded());
        Page {
            title: format!("furwock {}", self.title),
            provenance: self.machine.provenance(),
            verdict: self.answer.verdict.clone(),
            tally: self.answer.tally.clone().or_else(|| page::tally(benchmarks)),
            noise: Some(self.suite.noise.badge(self.counts())),
            warnings,
            summary,
            sections,
        }
    }
}

/// Before a conclusion: some readers read nothing else.
pub const ON_A_BUSY_MACHINE: &str = "Don't rely on this, the machine was too busy: ";

/// Stands out where there are colours.
pub fn loud(text: &str) -> String {
    let style = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
    let line = |line: &str| format!("{style}{line}{style:#}\n");
    text.lines().map(line).collect()
}

/// A benchmark's tables.
fn tables(results: &BenchmarkResults, width: usize) -> String {
    if results.contestants.is_empty() {
        return String::new();
    }
    let heading = format!(
        "{}: medians of {}{}.\n{}",
        results.benchmark.name,
        counted(results.rounds, "round"),
        if results.benchmark.counts_turns {
            String::new()
        } else {
            format!(" of {} s", results.seconds)
        },
        results.benchmark.case_key
    );
    let mut text = format!("{}\n", layout::wrapped(width, &heading));
    for figure in results.benchmark.figures.iter().filter(|figure| !figure.detail) {
        if let Some(table) = figure_table::table(figure, results, Contestant::heading) {
            let columns = Columns { names: 1, ..Columns::default() };
            let table = layout::fitted(columns, width, &table);
            text += &format!("{}{table}\n", layout::wrapped(width, &figure.heading()));
        }
    }
    text += &results.speeds().render(width);
    text += "\n";
    text
}
