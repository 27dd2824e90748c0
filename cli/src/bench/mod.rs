//! `furwock bench`: furwock against other implementations, in one interleaved run.
//!
//! A benchmark is a list of cases, each a workload with parameters, and of the figures that become tables
//! (`benchmark`); `workloads` has them. A suite runs one or more of them (`suite`, `roster`); what it
//! measured (`results`) is told as text, JSON, CSV and a page (`outcome` and what it calls). `seeds`,
//! `scaling` and `memory` are suites with a question of their own.

pub mod arguments;
mod baseline;
mod benchmark;
mod common;
mod contestant;
mod csv;
mod figure;
mod figure_table;
mod memory;
mod outcome;
mod page;
mod results;
mod roster;
mod scaling;
mod sections;
mod seeds;
mod standing;
mod suite;
mod workloads;

use std::time::Duration;

use crate::failure::{Failure, STATUS_USAGE};
use arguments::{Bench, BenchArguments};
use baseline::Baseline;
use benchmark::Benchmark;
use common::{Common, Outputs};
use outcome::Outcome;
use suite::{Effort, Suite};
use workloads::{condvars, many, mutex, pair, rwlock, semaphores, words};

const ROUNDS: u32 = 3;
const ROUNDS_FULL: u32 = 5;
/// How much longer than it measures a round may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the exit status.
pub fn bench(arguments: &BenchArguments) -> Result<i32, Failure> {
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    match (&arguments.bench, &baseline) {
        (Some(bench), _) => run(bench, baseline.as_ref()),
        (None, Some(baseline)) => run(&again(baseline)?, Some(baseline)),
        (None, None) => unreachable!("clap asks for one or the other"),
    }
}

/// What was run then, without where its results went.
fn again(baseline: &Baseline) -> Result<Bench, Failure> {
    let parsed = BenchArguments::parsed(baseline.words()?);
    let bench = parsed.ok().and_then(|arguments| arguments.bench);
    let mut bench = bench.ok_or_else(|| baseline.not_to_be_run())?;
    *bench.outputs() = Outputs::default();
    if let Bench::Seeds(seeds) = &mut bench {
        seeds.picture = None;
    }
    Ok(bench)
}

fn run(bench: &Bench, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    match bench {
        Bench::Seeds(arguments) => seeds::run(arguments, baseline),
        Bench::Scaling(arguments) => scaling::run(arguments, baseline),
        Bench::Memory(_) if baseline.is_some() => {
            Err(Failure::new(STATUS_USAGE, "bench memory: can't be compared with a baseline"))
        }
        Bench::Memory(arguments) => memory::run(arguments),
        Bench::Pair(arguments) => {
            arguments.outputs.check();
            let mut suite = pair::suite(arguments)?;
            anstream::eprintln!("furwock: {}", suite.announcement());
            pair::run(&mut suite)?;
            Outcome::new("bench pair", suite, &arguments.outputs, baseline).tell()
        }
        Bench::Mutex(arguments) => one(mutex::benchmark(arguments), &arguments.common, baseline),
        Bench::Rwlock(arguments) => one(rwlock::benchmark(arguments), &arguments.common, baseline),
        Bench::Cond(arguments) => one(condvars::cond(arguments), &arguments.common, baseline),
        Bench::Pp(arguments) => one(condvars::pp(arguments), &arguments.common, baseline),
        Bench::Queue(arguments) => one(condvars::queue(arguments), &arguments.common, baseline),
        Bench::Sem(arguments) => one(semaphores::sem(arguments), &arguments.common, baseline),
        Bench::Barrier(arguments) => {
            one(semaphores::barrier(arguments), &arguments.common, baseline)
        }
        Bench::Pingpong(arguments) => one(many::pingpong(arguments), &arguments.common, baseline),
        Bench::Waitset(arguments) => one(many::waitset(arguments), &arguments.common, baseline),
        Bench::Waitv(arguments) => one(many::waitv(arguments), &arguments.common, baseline),
        Bench::Hash(arguments) => one(words::hash(arguments), &arguments.common, baseline),
        Bench::Wake(arguments) => one(words::wake(arguments), &arguments.common, baseline),
        Bench::WakeParallel(arguments) => {
            one(words::wake_parallel(arguments), &arguments.common, baseline)
        }
        Bench::Requeue(arguments) => one(words::requeue(arguments), &arguments.common, baseline),
        Bench::LockPi(arguments) => one(words::lock_pi(arguments), &arguments.common, baseline),
    }
}

/// A suite of one benchmark.
fn one(benchmark: Benchmark, common: &Common, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    let rounds = common.rounds.unwrap_or(if common.full { ROUNDS_FULL } else { ROUNDS });
    let effort =
        Effort { pin: common.pin, seed: common.seed, ..Effort::new(rounds, common.seconds) };
    common.outputs.check();
    let timeout = common.timeout.unwrap_or(common.seconds + PATIENCE);
    if timeout <= common.seconds && !benchmark.counts_turns {
        anstream::eprintln!(
            "furwock: --timeout is no longer than a round measures (--seconds): none can end"
        );
    }
    let title = format!("bench {}", benchmark.name);
    let mut suite = Suite::new(vec![benchmark], &common.implementations, effort, timeout)?;
    anstream::eprintln!("furwock: {}", suite.announcement());
    suite.run()?;
    Outcome::new(&title, suite, &common.outputs, baseline).tell()
}
