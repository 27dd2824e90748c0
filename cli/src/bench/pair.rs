//! `furwock bench pair`: what one thread pays for an uncontended lock and unlock.
//!
//! All implementations take turns in one process, in slices; only furwock-preload needs a process
//! of its own.

use std::time::Duration;

use clap::Args;

use super::baseline::Baseline;
use super::benchmark::{Benchmark, Case, Place};
use super::figure::Figure;
use super::outcome::Outcome;
use super::results::BenchmarkResults;
use super::suite::{Effort, Interrupted, Suite};
use crate::contestants::Contestant;
use crate::failure::Failure;
use crate::measuring::output::Outputs;
use crate::measuring::workload_run::{Run, Stop};
use crate::measuring::{interrupt, progress_bar};
use crate::workloads::pair::{FLOOR, KINDS, able, figure};

/// One thread that locks and unlocks an uncontended lock
///
/// Nanoseconds for a pair of calls (mutex, read lock, write lock), beside the floor: a bare
/// compare-and-exchange and an exchange. All take turns in one process, in slices of less than a
/// millisecond; furwock-preload, which needs a process of its own, in another after it.
#[derive(Args)]
pub struct PairArguments {
    /// Implementations to measure [default: all that are installed]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',')]
    implementations: Vec<Contestant>,

    /// Rounds, of about 0.5 seconds each
    #[arg(long, value_name = "N", default_value_t = 7)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    pub outputs: Outputs,
}

const TIMEOUT: Duration = Duration::from_secs(60);
/// How many noisy processes are run again, with and without the library.
const RETRIES: usize = 5;
/// Slices of each implementation if all are in one process. With fewer in a process each has more,
/// so that all processes last equally long and see equally much noise.
const SLICES: usize = 100;
/// About how long an implementation's slices take in all.
const IMPLEMENTATION: Duration = Duration::from_millis(60);

fn benchmark() -> Benchmark {
    Benchmark {
        title: "One thread, a free lock",
        counts_turns: true,
        case_key: "Cases: mutex, read lock, write lock.",
        what: "One thread locks and unlocks uncontended locks. (A second thread sleeps: glibc omits \
               atomic instructions in a process of one thread.)",
        figures: vec![
            Figure::time("pair_s", "time for lock and unlock"),
            Figure::wait(
                "floor_s",
                "the floor, in the same process: a compare-and-exchange and an exchange",
            ),
            Figure { detail: false, ..Figure::index("over_floor", "time over the floor") },
        ],
        cases: KINDS.map(|kind| Case::new(kind, [], Place::default())).into(),
        able: able(),
        lacking: "rwlock",
        ..Benchmark::named("pair")
    }
}

pub fn run(arguments: &PairArguments, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    arguments.outputs.check()?;
    let effort = Effort::new(arguments.rounds, IMPLEMENTATION, TIMEOUT);
    let mut suite = Suite::new(vec![benchmark()], &arguments.implementations, effort)?;
    anstream::eprintln!("furwock: {}", suite.announcement());
    interrupt::watch();
    let mut results = suite.benchmarks.pop().expect("the one benchmark");
    suite.interrupted = collect(&mut suite, &mut results).is_err();
    suite.benchmarks.push(results);
    Outcome::new("bench pair", suite, &arguments.outputs, baseline).write()
}

/// The contestants that one process measures together.
struct Group {
    contestants: Vec<Contestant>,
    retries_left: usize,
}

fn collect(suite: &mut Suite, results: &mut BenchmarkResults) -> Result<(), Interrupted> {
    let mut groups = groups(&results.contestants);
    let rounds = suite.effort.rounds;
    let bar = progress_bar(rounds * groups.len());
    for round in 0..rounds {
        // The order alternates.
        let turn = usize::from(round > 0 && groups.len() > 1);
        groups.rotate_left(turn);
        for group in &mut groups {
            match measure(suite, group, results.contestants.len()) {
                Ok(run) => share_out(&run, group, results),
                Err(Stop::Interrupted) => return Err(Interrupted),
                Err(Stop::Failed(failure)) => fail(&failure.to_string(), group, results),
            }
            bar.inc(1);
        }
        groups.retain(|group| !group.contestants.is_empty());
    }
    bar.finish_and_clear();
    Ok(())
}

/// All in one process; only those that are preloaded need processes of their own.
fn groups(contestants: &[Contestant]) -> Vec<Group> {
    let (apart, together): (Vec<_>, Vec<_>) =
        contestants.iter().copied().partition(|contestant| contestant.is_preloaded());
    let group = |contestants: Vec<Contestant>| Group { contestants, retries_left: RETRIES };
    let together = (!together.is_empty()).then_some(together);
    together.into_iter().chain(apart.into_iter().map(|each| vec![each])).map(group).collect()
}

fn measure(suite: &mut Suite, group: &mut Group, implementations: usize) -> Result<Run, Stop> {
    let names: Vec<&str> = group.contestants.iter().map(|each| each.name()).collect();
    let first = group.contestants[0];
    let ld_preload = suite.roster.ld_preload(first);
    let slices = SLICES * implementations / names.len();
    loop {
        let parameters = [format!("impl={}", names.join(",")), format!("slices={slices}")];
        let place = suite.roster.place(first)?;
        let run = suite.workloads.run("pair", parameters, &ld_preload, place.as_ref())?;
        if suite.noise.accepts(&mut group.retries_left) {
            return Ok(run);
        }
    }
}

/// Turns what one process measured into a run of each contestant and kind.
fn share_out(run: &Run, group: &Group, results: &mut BenchmarkResults) {
    let figures = &run.report.figures;
    let Some(floor_ns) = figures.get(FLOOR) else { return };
    for case in &mut results.cases {
        for entry in &mut case.entries {
            if !group.contestants.contains(&entry.contestant) {
                continue;
            }
            let name = figure(&case.case.name, entry.contestant);
            let Some(pair_ns) = figures.get(&name) else { continue };
            let mut own = run.clone();
            own.report.figures = [
                ("pair_s".to_owned(), pair_ns / 1e9),
                ("floor_s".to_owned(), floor_ns / 1e9),
                ("over_floor".to_owned(), pair_ns / floor_ns),
            ]
            .into();
            entry.runs.push(own);
        }
    }
}

/// A group that failed is not run again.
fn fail(reason: &str, group: &mut Group, results: &mut BenchmarkResults) {
    let entries = results.cases.iter_mut().flat_map(|case| &mut case.entries);
    for entry in entries.filter(|entry| group.contestants.contains(&entry.contestant)) {
        entry.failure = Some(reason.to_owned());
    }
    group.contestants.clear();
}
