//! Runs a benchmark of threads that contend: all cases with all contestants, interleaved by rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::arguments::Common;
use super::case::Case;
use super::contestant::Contestant;
use super::figure_table::{self, Figure, OPERATIONS};
use super::roster::{Absent, Roster};
use super::standing::{CaseSpeeds, Mean, Speeds, Standing};
use crate::failure::{Failure, STATUS_FAILED};
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::Output;
use crate::measuring::workload_run::{Run, Stop, Workloads};
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use crate::statistics::Spread;

const ROUNDS: u32 = 3;
const ROUNDS_FULL: u32 = 5;
/// For each contestant in each case: bounds the time that a noisy machine can cost.
const RETRIES: usize = 1;
/// How much longer than it measures a round may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a round takes beside what it measures: a process, its threads, a look for noise.
const OVERHEAD: Duration = Duration::from_millis(30);

/// What is to be run, and what to be shown of it.
pub struct Benchmark {
    pub name: &'static str,
    pub workload: &'static str,
    /// Does the workload draw lots? All contestants get the same ones, others in each round.
    pub draws: bool,
    /// What the cases' names say, for people.
    pub case_key: &'static str,
    /// Each becomes a table.
    pub figures: &'static [Figure],
    pub cases: Vec<Case>,
}

/// All that is known of a case.
#[derive(Serialize)]
pub struct CaseResults<'a> {
    #[serde(flatten)]
    pub case: &'a Case,
    /// In the contestants' order.
    #[serde(rename = "results")]
    pub entries: Vec<Entry>,
}

/// One contestant in one case.
pub struct Entry {
    contestant: Contestant,
    pub runs: Vec<Run>,
    /// Who failed is not run again.
    pub failure: Option<String>,
    /// Rounds that may still be dropped as noisy.
    retries_left: usize,
}

impl Entry {
    fn new(contestant: Contestant) -> Self {
        Entry { contestant, runs: Vec::new(), failure: None, retries_left: RETRIES }
    }

    /// Over the rounds; none if no round has the figure.
    pub fn spread(&self, figure: &str) -> Option<Spread> {
        let values = self.runs.iter().filter_map(|run| run.report.figures.get(figure).copied());
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| Spread::of(&values))
    }

    /// Of every figure that any round has.
    fn spreads(&self) -> BTreeMap<&str, Spread> {
        let names: BTreeSet<&str> = self
            .runs
            .iter()
            .flat_map(|run| run.report.figures.keys().map(String::as_str))
            .collect();
        names.into_iter().filter_map(|name| Some((name, self.spread(name)?))).collect()
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Entry", 4)?;
        object.serialize_field("impl", &self.contestant)?;
        object.serialize_field("rounds", &self.runs)?;
        object.serialize_field("failure", &self.failure)?;
        object.serialize_field("figures", &self.spreads())?;
        object.end()
    }
}

#[derive(Serialize)]
struct Results<'a> {
    benchmark: &'static str,
    interrupted: bool,
    seconds: f64,
    loops_per_us: f64,
    noisy_rounds: &'a NoiseFilter,
    absent: &'a [Absent],
    cases: &'a [CaseResults<'a>],
    standings: Vec<Standing>,
    means: Vec<Mean>,
}

/// Returns the exit status.
pub fn run(benchmark: &Benchmark, arguments: &Common) -> Result<i32, Failure> {
    let workloads = Workloads::new(arguments.timeout.unwrap_or(arguments.seconds + PATIENCE))?;
    let roster = Roster::of(&arguments.implementations, &workloads)?;
    let rounds = arguments.rounds.unwrap_or(if arguments.full { ROUNDS_FULL } else { ROUNDS });
    let runner = Runner {
        benchmark,
        workloads,
        roster,
        rounds: rounds as usize,
        seconds: arguments.seconds,
    };
    interrupt::watch();
    anstream::eprintln!("furwock: {}", runner.announcement());

    let entries = || runner.roster.contestants.iter().copied().map(Entry::new).collect();
    let mut results: Vec<CaseResults> =
        benchmark.cases.iter().map(|case| CaseResults { case, entries: entries() }).collect();
    let mut noise = NoiseFilter::new();
    let interrupted = runner.collect(&mut results, &mut noise)?;

    let output = Output { json: arguments.json.as_ref() };
    let machine = Machine::this();
    let speeds = speeds(&runner.roster.contestants, &results);
    output.text(&runner.render(&machine, &results, &speeds, &noise));
    let document = Results {
        benchmark: benchmark.name,
        interrupted,
        seconds: runner.seconds.as_secs_f64(),
        loops_per_us: runner.workloads.loops_per_us,
        noisy_rounds: &noise,
        absent: &runner.roster.absent,
        cases: &results,
        standings: speeds.standings(),
        means: speeds.means(),
    };
    output.json(&Document::new(&machine, runner.roster.preload_path(), document))?;
    let mut entries = results.iter().flat_map(|results| &results.entries);
    Ok(match interrupted {
        true => STATUS_INTERRUPTED,
        false if entries.any(|entry| entry.failure.is_some()) => STATUS_FAILED,
        false => 0,
    })
}

fn speeds<'a>(contestants: &'a [Contestant], results: &[CaseResults]) -> Speeds<'a> {
    let speed = |entry: &Entry| match entry.failure {
        None => entry.spread(OPERATIONS.name).map(|spread| spread.median),
        Some(_) => None,
    };
    let of_case = |results: &CaseResults| CaseSpeeds {
        case: results.case.name.clone(),
        speeds: results.entries.iter().map(speed).collect(),
    };
    Speeds { contestants, cases: results.iter().map(of_case).collect() }
}

struct Runner<'a> {
    benchmark: &'a Benchmark,
    workloads: Workloads,
    roster: Roster,
    rounds: usize,
    seconds: Duration,
}

impl Runner<'_> {
    /// What is about to be run, and how long that will take on a quiet machine.
    fn announcement(&self) -> String {
        let (cases, contestants) = (self.benchmark.cases.len(), self.roster.contestants.len());
        let runs = u32::try_from(cases * contestants * self.rounds).unwrap_or(u32::MAX);
        let estimate = (self.seconds + OVERHEAD).saturating_mul(runs);
        format!(
            "{cases} cases x {contestants} implementations x {} rounds of {} s: about {}",
            self.rounds,
            self.seconds.as_secs_f64(),
            minutes(estimate)
        )
    }

    /// Says whether it was interrupted.
    fn collect(
        &self,
        results: &mut [CaseResults],
        noise: &mut NoiseFilter,
    ) -> Result<bool, Failure> {
        let contestants = self.roster.contestants.len();
        let bar = progress_bar(self.rounds * results.len() * contestants);
        for round in 0..self.rounds {
            for (index, results) in results.iter_mut().enumerate() {
                for step in 0..contestants {
                    // Who comes first rotates, so that a drift of the machine favours nobody.
                    let entry = &mut results.entries[(round + index + step) % contestants];
                    bar.set_message(format!("{} {}", results.case.name, entry.contestant));
                    match self.round(round, results.case, entry, noise) {
                        Ok(()) => {}
                        Err(Stop::Failed(reason)) => entry.failure = Some(reason),
                        Err(Stop::Interrupted) => return Ok(true),
                        Err(Stop::System(failure)) => return Err(failure),
                    }
                    bar.inc(1);
                }
            }
        }
        bar.finish_and_clear();
        Ok(false)
    }

    fn round(
        &self,
        round: usize,
        case: &Case,
        entry: &mut Entry,
        noise: &mut NoiseFilter,
    ) -> Result<(), Stop> {
        while entry.failure.is_none() {
            let ld_preload = self.roster.ld_preload(entry.contestant);
            let parameters = self.parameters(round, case, entry.contestant);
            let run = self.workloads.run(self.benchmark.workload, parameters, &ld_preload)?;
            if noise.accepts(&mut entry.retries_left) {
                entry.runs.push(run);
                break;
            }
        }
        Ok(())
    }

    fn parameters(&self, round: usize, case: &Case, contestant: Contestant) -> Vec<String> {
        let mut words: Vec<String> =
            case.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        words.extend([
            format!("impl={}", contestant.implementation().name()),
            format!("seconds={}", self.seconds.as_secs_f64()),
            format!("loops_per_us={}", self.workloads.loops_per_us),
        ]);
        if self.benchmark.draws {
            words.push(format!("seed={round}"));
        }
        words
    }

    fn render(
        &self,
        machine: &Machine,
        results: &[CaseResults],
        speeds: &Speeds,
        noise: &NoiseFilter,
    ) -> String {
        let contestants = &self.roster.contestants;
        let mut text = format!("{machine}\n");
        text += &format!(
            "Medians over rounds of {} s, up to {} of each implementation in each case.\n{}\n\n",
            self.seconds.as_secs_f64(),
            self.rounds,
            self.benchmark.case_key
        );
        for figure in self.benchmark.figures {
            text += &figure_table::render(figure, contestants, results);
        }
        text += &speeds.render();
        text += "\n";
        text += &failures(results);
        text += &self.roster.absences();
        let entries = results.iter().flat_map(|results| &results.entries);
        let on_preload = entries.filter(|entry| entry.contestant == Contestant::FurwockPreload);
        text += &self.roster.not_replaced(on_preload.flat_map(|entry| &entry.runs));
        if let Some(noise) = noise.summary("rounds") {
            text += &format!("{noise}\n");
        }
        text
    }
}

fn failures(results: &[CaseResults]) -> String {
    let of_case = |results: &CaseResults| -> String {
        let failed = results
            .entries
            .iter()
            .filter_map(|entry| Some((entry.contestant, entry.failure.as_ref()?)));
        let line = |(contestant, reason)| {
            format!("FAILED: {} with {contestant}: {reason}\n", results.case.name)
        };
        failed.map(line).collect()
    };
    results.iter().map(of_case).collect()
}

/// A length of time as people say it.
pub fn minutes(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ ..90 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", (seconds as f64 / 60.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_said_in_round_numbers() {
        let said = |seconds| minutes(Duration::from_secs_f64(seconds));
        assert_eq!(said(0.2), "1 seconds");
        assert_eq!(said(89.0), "89 seconds");
        assert_eq!(said(115.0), "2 minutes");
    }
}
