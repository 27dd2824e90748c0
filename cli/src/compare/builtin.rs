//! Runs the built-in workloads in interleaved rounds: each round has one pair of every cell.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::builtin_table::{Summary, render};
use super::cells::{self, Cell};
use super::json::Document;
use super::machine::Machine;
use super::measure::{self, Ending, Launch, Outcome, Sample, Stdout};
use super::noise::NoiseFilter;
use super::side::{Both, Side};
use super::{Output, STATUS_INTERRUPTED, interrupt, progress_bar, system_failure};
use crate::args::CompareArguments;
use crate::failure::{Failure, STATUS_FAILED, STATUS_USAGE};
use crate::obstacle;
use crate::preload::Preload;
use crate::workload::report::Report;
use crate::workload::work::calibrate;

const PAIRS: u32 = 5;
/// For each cell: bounds the time that a noisy machine can cost.
const RETRIES: usize = 1;
const TIMEOUT: Duration = Duration::from_secs(60);
/// What a workload's own watchdog gets to report a hang before the workload is killed.
const REPORTING: Duration = Duration::from_secs(5);

/// All that is known of a cell.
#[derive(Serialize)]
pub struct Series {
    #[serde(flatten)]
    pub cell: Cell,
    pub pairs: Vec<Pair>,
    /// A side that failed is not run again.
    pub failure: Option<CellFailure>,
    /// Pairs that may still be dropped as noisy.
    #[serde(skip)]
    retries_left: usize,
}

#[derive(Serialize)]
pub struct Pair {
    pub order: [Side; 2],
    #[serde(flatten)]
    pub runs: Both<Run>,
}

#[derive(Serialize)]
pub struct Run {
    pub report: Report,
    process: Sample,
}

#[derive(Serialize)]
pub struct CellFailure {
    pub side: Side,
    pub reason: String,
}

enum Stop {
    Interrupted,
    Cell(CellFailure),
    System(Failure),
}

#[derive(Serialize)]
struct Results<'a> {
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
    output.text(&render(&machine, &series, &summary, runner.preload.path()));
    if let Some(noise) = noise.summary() {
        output.text(&format!("{noise}\n"));
    }
    let loops_per_us = runner.loops_per_us;
    let results = Results { loops_per_us, workloads: &series, summary: &summary };
    output.json(&Document::new(&machine, runner.preload.path(), &noise, results))?;
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
    executable: PathBuf,
    preload: Preload,
    timeout: Duration,
    loops_per_us: f64,
}

impl Runner {
    fn new(arguments: &CompareArguments) -> Result<Self, Failure> {
        let preload = Preload::find()?;
        let executable = std::env::current_exe()
            .map_err(|error| system_failure("cannot find furwock's own executable", error))?;
        if !arguments.force {
            obstacle::check(&executable)?;
        }
        let timeout = arguments.timeout.unwrap_or(TIMEOUT);
        Ok(Runner { executable, preload, timeout, loops_per_us: calibrate() })
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
                    Err(Stop::Cell(failure)) => series.failure = Some(failure),
                    Err(Stop::Interrupted) => return Ok(true),
                    Err(Stop::System(failure)) => return Err(failure),
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
    ) -> Result<(), Stop> {
        while series.failure.is_none() {
            let order = Side::order(round);
            let runs = Both::try_in_order(round, |side| self.run(side, &series.cell))?;
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
        if interrupt::asked() {
            return Err(Stop::Interrupted);
        }
        let outcome = measure::run(&Launch {
            program: &self.executable,
            arguments: &self.command(cell),
            ld_preload: &side.ld_preload(&self.preload),
            stdout: Stdout::Keep,
            timeout: Some(self.timeout + REPORTING),
        });
        let outcome = outcome.map_err(|error| Stop::System(system_failure(&cell.name, error)))?;
        if outcome.ending == Ending::Interrupted {
            return Err(Stop::Interrupted);
        }
        judge(&outcome).map_err(|reason| Stop::Cell(CellFailure { side, reason }))
    }

    fn command(&self, cell: &Cell) -> Vec<OsString> {
        let assignment = |key: &str, value: f64| OsString::from(format!("{key}={value}"));
        let mut words: Vec<OsString> =
            ["furwock", "workload", cell.workload].map(Into::into).into();
        words.extend(cell.parameters.iter().map(|(key, value)| assignment(key, *value)));
        words.push(assignment("watchdog", self.timeout.as_secs_f64()));
        if cell.workload == "mutex" {
            words.push(assignment("loops_per_us", self.loops_per_us));
        }
        words
    }
}

/// The run's report, or why there is none that counts.
fn judge(outcome: &Outcome) -> Result<Run, String> {
    let Ok(report) = serde_json::from_slice::<Report>(&outcome.stdout) else {
        let stderr = String::from_utf8_lossy(&outcome.stderr);
        return Err(format!("{} {}", outcome.ending, stderr.trim()).trim_end().to_owned());
    };
    match report {
        Report { ok: true, .. } if outcome.ending == Ending::Exited(0) => {
            Ok(Run { report, process: outcome.sample })
        }
        Report { ok: true, .. } => Err(format!("{} after its report", outcome.ending)),
        Report { reason, figures, .. } => {
            let mut reason = reason.unwrap_or_default();
            figures.iter().for_each(|(name, value)| reason += &format!(", {name} {value}"));
            Err(reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ending: Ending, stdout: &str) -> Result<Run, String> {
        let sample = Sample {
            wall_s: 0.0,
            user_s: 0.0,
            system_s: 0.0,
            voluntary_switches: 0.0,
            involuntary_switches: 0.0,
            peak_rss_kib: 0.0,
        };
        judge(&Outcome { sample, ending, stdout: stdout.into(), stderr: b"oh\n".to_vec() })
    }

    #[test]
    fn only_a_clean_end_after_a_good_report_counts() {
        let good = r#"{"ok":true,"reason":null,"locks_from":"","figures":{}}"#;
        let hang = r#"{"ok":false,"reason":"hang","locks_from":"","figures":{"turns":3.0}}"#;
        assert!(judged(Ending::Exited(0), good).is_ok());
        let reason = |ending, stdout| judged(ending, stdout).err().unwrap();
        assert_eq!(reason(Ending::Killed(6), good), "killed by signal 6 after its report");
        assert_eq!(reason(Ending::Exited(3), hang), "hang, turns 3");
        assert_eq!(reason(Ending::Killed(11), ""), "killed by signal 11 oh");
    }
}
