//! `furwock bench seeds`: the tables of the five documents that asked for what furwock does, in their
//! order and units, what was published beside what is measured here, and a verdict for each row.
//!
//! `requeue`, `throughput`, `scaling`, `word64` and `multiple` have a document each: which cases are to
//! be measured, and how its rows follow from them. `row` has what rows have in common.

mod multiple;
mod requeue;
mod row;
mod scaling;
mod throughput;
mod word64;

use std::time::Duration;

use clap::Args;

use super::PATIENCE;
use super::baseline::Baseline;
use super::common::{Outputs, warn_of};
use super::outcome::{Answer, Outcome};
use super::suite::{Effort, Suite};
use crate::duration::seconds;
use crate::failure::Failure;
use crate::measuring::output::cannot_write;
use row::{Measured, Seed};

/// The five documents' tables: published figures beside this machine's
///
/// About 6 minutes. For each document its own benchmark is run, as far as this machine can, against what
/// the document compared with and what is used today, and each row says whether the published gain was
/// reached.
#[derive(Args)]
pub struct SeedsArguments {
    /// Rounds of each implementation in each case
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// How long a round measures, where it isn't so many turns that are measured
    #[arg(long, value_name = "SECONDS", default_value = "0.2", value_parser = seconds)]
    pub seconds: Duration,

    /// Only these documents, by number: 1 requeue, 2 throughput, 3 scaling, 4 words of 64 bits, 5 many
    /// words [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=5))]
    pub only: Vec<u8>,

    /// Write a picture of published and measured gains to FILE, as SVG
    #[arg(long, value_name = "FILE")]
    pub picture: Option<std::path::PathBuf>,

    #[command(flatten)]
    pub outputs: Outputs,
}

/// Returns the exit status.
pub fn run(arguments: &SeedsArguments, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    arguments.outputs.check();
    arguments.picture.iter().for_each(|path| warn_of(path));
    let effort = Effort::new(arguments.rounds, arguments.seconds);
    let wanted =
        |seed: &&row::Document| arguments.only.is_empty() || arguments.only.contains(&seed.number);
    let documents: Vec<&row::Document> = DOCUMENTS.iter().filter(wanted).collect();
    let benchmarks = documents.iter().flat_map(|document| (document.benchmarks)()).collect();
    let mut suite = Suite::new(benchmarks, &[], effort, arguments.seconds + PATIENCE)?;
    anstream::eprintln!("furwock: {}", suite.announcement());
    suite.run()?;
    let measured = Measured(&suite.benchmarks);
    let seeds: Vec<Seed> = documents
        .iter()
        .map(|document| Seed { document, rows: (document.rows)(&measured) })
        .collect();
    let answer = Answer {
        text: seeds.iter().map(Seed::text).collect::<Vec<_>>().join("\n") + "\n",
        findings: seeds.iter().map(Seed::finding).collect(),
        sections: seeds.iter().map(Seed::section).collect(),
        json: serde_json::to_value(&seeds).expect("plain data"),
        instead_of_tables: true,
    };
    let picture = row::picture(&seeds);
    let mut outcome = Outcome::new("bench seeds", suite, &arguments.outputs, baseline);
    outcome.answer = answer;
    let status = outcome.tell()?;
    if let Some(path) = &arguments.picture {
        let svg = crate::report::svg(&picture(&outcome.machine));
        std::fs::write(path, svg).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(status)
}

const DOCUMENTS: [row::Document; 5] = [
    requeue::DOCUMENT,
    throughput::DOCUMENT,
    scaling::DOCUMENT,
    word64::DOCUMENT,
    multiple::DOCUMENT,
];
