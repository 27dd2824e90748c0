//! `furwock bench papers`: the tables of the five papers that asked for what furwock does, in their
//! units. Each row has the published figure, this machine's, and a verdict.
//!
//! Each paper has a file: which cases are to be measured, and how its rows follow from them. `row`
//! has what rows have in common, `table` prints them.

mod almeida;
mod bueso;
mod drepper;
mod long;
mod molnar;
mod row;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::PATIENCE;
use super::baseline::Baseline;
use super::benchmark::Benchmark;
use super::outcome::{Answer, Outcome};
use super::suite::{Effort, Suite};
use crate::failure::Failure;
use crate::measuring::output::{Outputs, check_writable, write_to};
use crate::values::seconds;
use row::{Measured, Row};
use table::Answered;

/// The five papers' tables: published figures beside this machine's
///
/// About 5 minutes. Runs each paper's own benchmark, as far as this machine can, against what the
/// paper compared with and what is used today. Each row says whether the published gain was
/// reached.
#[derive(Args)]
pub struct PapersArguments {
    /// Rounds of each implementation in each case
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// How long a round measures, in workloads that don't count turns
    #[arg(long, value_name = "SECONDS", default_value = "0.2", value_parser = seconds)]
    pub seconds: Duration,

    /// Only these papers [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub only: Vec<Author>,

    /// Write a picture of published and measured gains to FILE, as SVG
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,

    #[command(flatten)]
    pub outputs: Outputs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Author {
    /// 2003: requeueing
    Molnar,
    /// 2008: 64-bit futexes
    Drepper,
    /// 2014: a wait-queue table that scales
    Bueso,
    /// 2017: throughput-optimized locks
    Long,
    /// 2020: waiting on many words
    Almeida,
}

pub struct Paper {
    pub author: Author,
    pub year: u16,
    pub title: &'static str,
    pub source: &'static str,
    /// What it was about, and what is measured here for it.
    pub text: &'static [&'static str],
    pub benchmarks: fn() -> Vec<Benchmark>,
    pub rows: fn(&Measured) -> Vec<Row>,
}

const PAPERS: [Paper; 5] =
    [molnar::PAPER, drepper::PAPER, bueso::PAPER, long::PAPER, almeida::PAPER];

const LEGEND: &str = "Gain: more than 1 is better everywhere. A range is inconclusive.\n";

fn conclusion(answers: &[Answered]) -> String {
    let sum = |at: usize| answers.iter().map(|answer| answer.kept()[at]).sum::<usize>();
    let (published, kept, short) = (sum(0), sum(1), sum(2));
    format!(
        "Of {} {kept} were reached or beaten here, {short} fell short, {} are undecided or weren't \
         measured.",
        match published {
            1 => "1 published gain".to_owned(),
            count => format!("{count} published gains"),
        },
        published - kept - short
    )
}

/// Returns the exit status.
pub fn run(arguments: &PapersArguments, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    arguments.picture.iter().try_for_each(|path| check_writable(path))?;
    let only = &arguments.only;
    let wanted = |paper: &&Paper| only.is_empty() || only.contains(&paper.author);
    let papers: Vec<&Paper> = PAPERS.iter().filter(wanted).collect();
    let benchmarks = papers.iter().flat_map(|paper| (paper.benchmarks)()).collect();
    let effort = Effort::new(arguments.rounds, arguments.seconds, arguments.seconds + PATIENCE);
    let suite = Suite::measured(benchmarks, &[], effort, &arguments.outputs)?;
    let measured = Measured(&suite.benchmarks);
    let answered = |paper: &&'static Paper| Answered { paper, rows: (paper.rows)(&measured) };
    let answers: Vec<Answered> = papers.iter().map(answered).collect();
    let mut outcome = Outcome::new("bench papers", suite, &arguments.outputs, baseline);
    outcome.answer = Answer {
        text: answers.iter().map(Answered::text).collect::<Vec<_>>().join("\n") + "\n" + LEGEND,
        conclusion: conclusion(&answers),
        tally: Some(table::tally(&answers)),
        findings: answers.iter().map(Answered::finding).collect(),
        sections: answers.iter().map(Answered::section).collect(),
        json: serde_json::to_value(&answers).expect("plain data"),
        instead_of_tables: true,
        ..Answer::default()
    };
    let status = outcome.write()?;
    let picture = || crate::report::svg(&table::picture(&answers, &outcome.machine));
    write_to(arguments.picture.as_deref(), |path| std::fs::write(path, picture()))?;
    Ok(status)
}
