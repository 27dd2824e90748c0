//! Runs the built-in workloads in interleaved rounds: each round has one pair of every cell.

use std::time::Duration;

use serde::Serialize;

use super::builtin_table::{Summary, render};
use super::cells::{self, Cell};
use super::page;
use super::runs::{CellFailure, Pair, Series};
use super::side::{Both, Side};
use crate::args::CompareArguments;
use crate::failure::{Failure, STATUS_FAILED, STATUS_USAGE};
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::{Output, write_page};
use crate::measuring::workload_run::{Run, Stop, Workloads};
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use crate::obstacle;
use crate::preload::Preload;

const PAIRS: u32 = 5;
/// For each cell: bounds the time that a noisy machine can cost.
const RETRIES: usize = 1;
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Serialize)]
struct Results<'a> {
    noisy_pairs: &'a NoiseFilter,
    loops_per_us: f64,
    workloads: &'a [Series],
    summary: &'a [Summary],
}

pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    let mut series = select(arguments)?;
    let runner = Runner::new(arguments)?;
    interrupt::watch();
    let mut noise = NoiseFilter::new();
    let interrupted = runner.collect(arguments, &mut series, &mut noise)?;

    let output = Output { json: arguments.json.as_ref() };
    let machine = Machine::this();
    let summary: Vec<Summary> = series.iter().flat_map(Summary::of).collect();
    output.text(&render(&machine, &series, &summary, runner.preload.path()))?;
    if let Some(noise) = noise.summary("pairs") {
        output.text(&format!("{noise}\n"))?;
    }
    let results = Results {
        noisy_pairs: &noise,
        loops_per_us: runner.workloads.loops_per_us,
        workloads: &series,
        summary: &summary,
    };
    let notes = noise.summary("pairs").unwrap_or_default();
    let page = || page::of_builtin(&machine, &summary, &notes);
    arguments.report.as_ref().map_or(Ok(()), |path| write_page(path, &page()))?;
    output.json(&Document::new(&machine, Some(runner.preload.path()), results))?;
    Ok(match interrupted {
        true => STATUS_INTERRUPTED,
        false if series.iter().any(|series| series.failure.is_some()) => STATUS_FAILED,
        false => 0,
    })
}

fn select(arguments: &CompareArguments) -> Result<Vec<Series>, Failure> {
    let all = cells::all();
    let means = |name: &str, cell: &Cell| name == cell.name || name == cell.workload;
    for name in &arguments.workload {
        if !all.iter().any(|cell| means(name, cell)) {
            let message = format!("{name}: no such workload; --list shows them");
            return Err(Failure::new(STATUS_USAGE, message));
        }
    }
    let wanted = |cell: &Cell| {
        arguments.workload.is_empty() || arguments.workload.iter().any(|name| means(name, cell))
    };
    let chosen = all.into_iter().filter(wanted);
    let sized = chosen.map(|cell| if arguments.quick { cells::quick(cell) } else { cell });
    let series = |cell| Series { cell, pairs: Vec::new(), failure: None, retries_left: RETRIES };
    Ok(sized.map(series).collect())
}

struct Runner {
    workloads: Workloads,
    preload: Preload,
}

impl Runner {
    fn new(arguments: &CompareArguments) -> Result<Self, Failure> {
        let preload = Preload::find()?;
        let workloads = Workloads::new(arguments.timeout.unwrap_or(TIMEOUT))?;
        if !arguments.force {
            obstacle::check(workloads.executable())?;
        }
        Ok(Runner { workloads, preload })
    }

    /// Says whether it was interrupted.
    fn collect(
        &self,
        arguments: &CompareArguments,
        series: &mut [Series],
        noise: &mut NoiseFilter,
    ) -> Result<bool, Failure> {
        let warmups = arguments.warmup.unwrap_or(0) as usize;
        let pairs = arguments.pairs.unwrap_or(PAIRS) as usize;
        let bar = progress_bar((warmups + pairs) * series.len());
        for round in 0..warmups + pairs {
            for series in series.iter_mut() {
                bar.set_message(series.cell.name.clone());
                match self.round(round, round >= warmups, series, noise) {
                    Ok(()) => {}
                    Err((side, Stop::Failed(reason))) => {
                        series.failure = Some(CellFailure { side, reason });
                    }
                    Err((_, Stop::Interrupted)) => return Ok(true),
                    Err((_, Stop::System(failure))) => return Err(failure),
                }
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Ok(false)
    }

    fn round(
        &self,
        round: usize,
        counts: bool,
        series: &mut Series,
        noise: &mut NoiseFilter,
    ) -> Result<(), (Side, Stop)> {
        while series.failure.is_none() {
            let order = Side::order(round);
            let runs = Both::try_in_order(round, |side| {
                self.run(side, &series.cell).map_err(|stop| (side, stop))
            })?;
            let quiet = noise.accepts(&mut series.retries_left);
            if counts && quiet {
                series.pairs.push(Pair { order, runs });
            }
            if quiet || !counts {
                break;
            }
        }
        Ok(())
    }

    fn run(&self, side: Side, cell: &Cell) -> Result<Run, Stop> {
        let mut parameters: Vec<String> =
            cell.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if cell.workload == "mutex" {
            parameters.push(format!("loops_per_us={}", self.workloads.loops_per_us));
        }
        self.workloads.run(cell.workload, parameters, &side.ld_preload(&self.preload))
    }
}
