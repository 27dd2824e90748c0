//! `furwock bench`: furwock against other implementations, in one interleaved run.
//!
//! A benchmark is a list of cases, each a workload with parameters, and of the figures that become
//! tables (`benchmark`); `crate::workloads` has them. A suite runs one or more of them (`suite`,
//! `roster`). Its results (`results`) become text, JSON, CSV and a page (`outcome` and what it
//! calls). `papers`, `scaling`, `memory` and `pair` are suites with a question of their own.

pub mod arguments;
mod baseline;
pub mod benchmark;
pub mod common;
mod csv;
pub mod figure;
mod figure_table;
mod memory;
pub mod outcome;
mod page;
mod pair;
mod papers;
mod quick;
pub mod results;
mod roster;
mod scaling;
pub mod sections;
mod standing;
pub mod suite;

use std::time::Duration;

use crate::failure::{Failure, STATUS_USAGE};
use crate::measuring::output::Outputs;
use arguments::{Bench, BenchArguments};
use baseline::Baseline;
use benchmark::Benchmark;
use common::Common;
use outcome::Outcome;
use quick::QuickArguments;
use suite::{Effort, Suite};

/// How much longer than it measures a round may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the exit status.
pub fn bench(arguments: &BenchArguments) -> Result<i32, Failure> {
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    match (&arguments.bench, &baseline) {
        (Some(bench), _) => run(bench, baseline.as_ref()),
        (None, Some(baseline)) => run(&again(baseline)?, Some(baseline)),
        (None, None) => quick::run(&QuickArguments::default(), None),
    }
}

/// The command of the baseline, without where its results went.
fn again(baseline: &Baseline) -> Result<Bench, Failure> {
    let parsed = BenchArguments::parsed(baseline.words()?);
    let bench = parsed.ok().and_then(|arguments| arguments.bench);
    let mut bench = bench.ok_or_else(|| baseline.cannot_repeat())?;
    *bench.outputs() = Outputs::default();
    if let Bench::Papers(papers) = &mut bench {
        papers.picture = None;
    }
    Ok(bench)
}

fn run(bench: &Bench, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    match bench {
        Bench::Quick(arguments) => quick::run(arguments, baseline),
        Bench::Papers(arguments) => papers::run(arguments, baseline),
        Bench::Scaling(arguments) => scaling::run(arguments, baseline),
        Bench::Memory(_) if baseline.is_some() => {
            Err(Failure::new(STATUS_USAGE, "bench memory: can't be compared with a baseline"))
        }
        Bench::Memory(arguments) => memory::run(arguments),
        Bench::Pair(arguments) => pair::run(arguments, baseline),
        Bench::Workload(workload) => one(workload.benchmark(), workload.common(), baseline),
    }
}

/// A suite of one benchmark.
fn one(benchmark: Benchmark, common: &Common, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    let Common { pin, seed, .. } = *common;
    let timeout = common.timeout.unwrap_or(common.seconds + PATIENCE);
    let effort = Effort { pin, seed, ..Effort::new(common.rounds, common.seconds, timeout) };
    if timeout <= common.seconds && !benchmark.counts_turns {
        anstream::eprintln!(
            "furwock: warning: --timeout is no longer than --seconds: no round can end in time"
        );
    }
    let title = format!("bench {}", benchmark.name);
    let suite = Suite::measured(vec![benchmark], &common.implementations, effort, &common.outputs)?;
    Outcome::new(&title, suite, &common.outputs, baseline).write()
}
