//! `furwock bench quick`, which is what `furwock bench` does: about 20 seconds, and a sentence.

use std::time::Duration;

use clap::Args;

use super::PATIENCE;
use super::baseline::Baseline;
use super::benchmark::Benchmark;
use super::outcome::{Answer, Outcome};
use super::sections::Sections;
use super::standing::{CaseSpeeds, LEGEND, Over, Ratio};
use super::suite::{Effort, Suite};
use crate::contestants::Contestant;
use crate::failure::Failure;
use crate::measuring::layout::{self, Columns};
use crate::measuring::output::Outputs;
use crate::measuring::tally::Tally;
use crate::measuring::width::width;
use crate::report::model::{Cell, Table};
use crate::workloads::{cond, mutex, queue, rwlock};

/// Five workloads on five implementations in about 20 seconds
///
/// The ratios of furwock's speed to those of glibc, std and parking_lot, and a sentence. This is
/// what `furwock bench` does if no workload is named; the workloads by themselves have more cases,
/// figures and implementations.
#[derive(Args, Default)]
pub struct QuickArguments {
    #[command(flatten)]
    pub outputs: Outputs,
}

const ROUNDS: u32 = 4;
const SECONDS: Duration = Duration::from_millis(120);

fn benchmarks() -> Vec<Benchmark> {
    use Contestant::{Furwock, FurwockPreload, Glibc, ParkingLot, Std};
    let able = |benchmark: Benchmark| Benchmark {
        able: vec![Furwock, FurwockPreload, Glibc, Std, ParkingLot],
        ..benchmark
    };
    let mutexes = [(10.0, 4), (1.0, 16)];
    let mutexes = mutexes.map(|(us, threads)| mutex::case(Sections::new(us, us), threads));
    vec![
        able(mutex::benchmark(mutexes.into())),
        able(rwlock::benchmark(vec![rwlock::case(1.0, Sections::new(1.0, 1.0), 4)])),
        able(cond::benchmark(vec![cond::case(50, 100, true)])),
        able(queue::benchmark(vec![queue::case((4, 4), 16, 20_000)])),
    ]
}

pub fn run(arguments: &QuickArguments, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    let outputs = &arguments.outputs;
    let effort = Effort::new(ROUNDS, SECONDS, SECONDS + PATIENCE);
    let suite = Suite::measured(benchmarks(), &[], effort, outputs)?;
    let answer = answer(&suite);
    let mut outcome = Outcome::new("bench quick", suite, outputs, baseline);
    outcome.answer = answer;
    outcome.write()
}

/// One of furwock's over one peer, over all cases of all benchmarks.
fn tally(suite: &Suite, ours: Contestant, over: Over) -> Tally {
    let verdicts = suite.benchmarks.iter().flat_map(|results| {
        let speeds = results.speeds();
        let ratios = speeds.cases.iter().filter_map(|case| speeds.ratio_over(case, ours, over));
        ratios.map(|ratio| ratio.verdict).collect::<Vec<_>>()
    });
    Tally::of(verdicts)
}

const COLUMNS: [(&str, Contestant, Over); 4] = [
    ("furwock/glibc", Contestant::Furwock, Over::Peer(Contestant::Glibc)),
    ("/std", Contestant::Furwock, Over::Peer(Contestant::Std)),
    ("/parking_lot", Contestant::Furwock, Over::Peer(Contestant::ParkingLot)),
    ("preload/glibc", Contestant::FurwockPreload, Over::Peer(Contestant::Glibc)),
];

fn answer(suite: &Suite) -> Answer {
    let rows = suite.benchmarks.iter().flat_map(|results| {
        let speeds = results.speeds();
        let row = |case: &CaseSpeeds| {
            let name = format!("{} {}", results.benchmark.name, case.case);
            let ratio = |(_, ours, over): &(_, Contestant, Over)| {
                Ratio::cell(speeds.ratio_over(case, *ours, *over))
            };
            std::iter::once(Cell::plain(name)).chain(COLUMNS.iter().map(ratio)).collect()
        };
        speeds.cases.iter().map(row).collect::<Vec<Vec<Cell>>>()
    });
    let header = std::iter::once("speed of").chain(COLUMNS.iter().map(|(name, ..)| *name));
    let table = Table::new("Speed over each", header, rows);
    let columns = Columns { names: 1, ..Columns::default() };
    let said = |ours, over| tally(suite, ours, over).said(["faster", "slower"]);
    let conclusion = format!(
        "furwock over glibc is {}; furwock-preload, as under `furwock run`, over glibc is {}.",
        said(Contestant::Furwock, Over::Peer(Contestant::Glibc)),
        said(Contestant::FurwockPreload, Over::Peer(Contestant::Glibc)),
    );
    Answer {
        text: format!(
            "\n{}{}",
            layout::fitted(columns, width(), &table),
            layout::wrapped(width(), LEGEND)
        ),
        conclusion,
        instead_of_tables: true,
        ..Answer::default()
    }
}
