//! `furwock bench pair`: what one thread pays for an uncontended lock and unlock.
//!
//! All implementations take turns in one process, in slices, but for the one that needs a process of its
//! own.

use std::time::Duration;

use clap::Args;

use super::super::benchmark::{Benchmark, Case, Place, all_able};
use super::super::common::{NOTES, Outputs};
use super::super::contestant::{Contestant, LOCKS};
use super::super::figure::{Better, Figure, Unit, wait};
use super::super::results::BenchmarkResults;
use super::super::suite::{Effort, Suite};
use crate::failure::Failure;
use crate::measuring::workload_run::{Run, Stop};
use crate::measuring::{interrupt, progress_bar};
use crate::workload::pair::{FLOOR, KINDS, figure};

/// One thread that locks and unlocks when nobody else wants the lock
///
/// Nanoseconds for a pair of calls: mutex, read lock and write lock, beside what none can go below,
/// a bare compare-and-exchange and an exchange. All take turns in one process, in slices of less than
/// a millisecond; furwock-preload, which needs a process of its own, in another after it.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct PairArguments {
    /// Implementations [default: all that are here]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',', value_parser = Contestant::parse)]
    pub implementations: Vec<Contestant>,

    /// Rounds, of about 0.5 seconds each
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    #[command(flatten)]
    pub outputs: Outputs,
}

const TIMEOUT: Duration = Duration::from_secs(60);
/// Processes run again for noise, of each kind.
const RETRIES: usize = 5;
/// Slices of each implementation, where all are in one process. Fewer in a process have more of them,
/// so that every process lasts as long and sees as much of the machine's moods.
const SLICES: usize = 100;
/// What an implementation's slices take.
const IMPLEMENTATION: Duration = Duration::from_millis(60);

const FIGURES: &[Figure] = &[
    Figure {
        name: "pair_s",
        title: "time for lock and unlock (±: half the range of the rounds, in percent)",
        unit: Unit::Time,
        better: Better::Less,
        detail: false,
    },
    wait("floor_s", "the floor, in the same process: a compare-and-exchange and an exchange"),
    Figure {
        name: "over_floor",
        title: "time over the floor",
        unit: Unit::Index,
        better: Better::Less,
        detail: false,
    },
];

pub fn benchmark() -> Benchmark {
    let case = |kind: &str| Case {
        name: kind.to_owned(),
        parameters: Vec::new(),
        bound: None,
        place: Place::default(),
    };
    Benchmark {
        name: "pair",
        title: "One thread, a free lock",
        workload: "pair",
        counts_turns: true,
        draws: false,
        case_key: "Cases: mutex, read lock, write lock.",
        what: "One thread locks and unlocks what nobody else wants. (A second thread sleeps meanwhile: glibc \
               does without locked instructions in a process of one thread.)",
        figures: FIGURES,
        cases: KINDS.map(case).into(),
        able: LOCKS,
        lacking: "locks",
        unable: all_able,
    }
}

/// The contestants that one process measures together.
struct Group {
    contestants: Vec<Contestant>,
    retries_left: usize,
}

pub fn effort(arguments: &PairArguments) -> Effort {
    Effort::new(arguments.rounds, IMPLEMENTATION)
}

pub fn suite(arguments: &PairArguments) -> Result<Suite, Failure> {
    Suite::new(vec![benchmark()], &arguments.implementations, effort(arguments), TIMEOUT)
}

/// In place of the suite's own way to run.
pub fn run(suite: &mut Suite) -> Result<(), Failure> {
    interrupt::watch();
    let mut results = suite.benchmarks.pop().expect("the one benchmark");
    let stopped = collect(suite, &mut results);
    suite.benchmarks.push(results);
    match stopped {
        Err(Stop::Interrupted) => suite.interrupted = true,
        Err(Stop::System(failure)) => return Err(failure),
        Err(Stop::Failed(_)) | Ok(()) => {}
    }
    Ok(())
}

fn collect(suite: &mut Suite, results: &mut BenchmarkResults) -> Result<(), Stop> {
    let mut groups = groups(&results.contestants);
    let rounds = suite.effort.rounds;
    let bar = progress_bar(rounds * groups.len());
    for round in 0..rounds {
        // Who comes first alternates.
        let turn = usize::from(round > 0 && groups.len() > 1);
        groups.rotate_left(turn);
        for group in &mut groups {
            match measure(suite, group, results.contestants.len()) {
                Ok(run) => share_out(&run, group, results),
                Err(Stop::Interrupted) => return Err(Stop::Interrupted),
                Err(Stop::Failed(reason)) => {
                    fail(&reason, group, results);
                    group.contestants.clear();
                }
                Err(Stop::System(failure)) => {
                    fail(&failure.to_string(), group, results);
                    group.contestants.clear();
                }
            }
            bar.inc(1);
        }
        groups.retain(|group| !group.contestants.is_empty());
    }
    bar.finish_and_clear();
    Ok(())
}

/// All in one process, but for the one that needs a process of its own.
fn groups(contestants: &[Contestant]) -> Vec<Group> {
    let preloaded = |contestant: &Contestant| *contestant == Contestant::FurwockPreload;
    let (apart, together): (Vec<_>, Vec<_>) = contestants.iter().copied().partition(preloaded);
    let group = |contestants: Vec<Contestant>| Group { contestants, retries_left: RETRIES };
    [together, apart].into_iter().filter(|group| !group.is_empty()).map(group).collect()
}

fn measure(suite: &mut Suite, group: &mut Group, implementations: usize) -> Result<Run, Stop> {
    let names: Vec<&str> =
        group.contestants.iter().map(|each| each.implementation().name()).collect();
    let ld_preload = suite.roster.ld_preload(group.contestants[0]);
    let slices = SLICES * implementations / names.len();
    loop {
        let parameters = [format!("impl={}", names.join(",")), format!("slices={slices}")];
        let run = suite.workloads.run("pair", parameters, &ld_preload)?;
        if suite.noise.accepts(&mut group.retries_left) {
            return Ok(run);
        }
    }
}

/// What one process measured, as a run of each contestant and kind.
fn share_out(run: &Run, group: &Group, results: &mut BenchmarkResults) {
    let figures = &run.report.figures;
    let Some(floor_ns) = figures.get(FLOOR) else { return };
    for case in &mut results.cases {
        for entry in &mut case.entries {
            if !group.contestants.contains(&entry.contestant) {
                continue;
            }
            let name = figure(&case.case.name, entry.contestant.implementation().name());
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

fn fail(reason: &str, group: &Group, results: &mut BenchmarkResults) {
    let entries = results.cases.iter_mut().flat_map(|case| &mut case.entries);
    for entry in entries.filter(|entry| group.contestants.contains(&entry.contestant)) {
        entry.failure = Some(reason.to_owned());
    }
}
