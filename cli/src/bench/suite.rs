//! Runs benchmarks: all cases with all contestants, interleaved by rounds.

use std::time::Duration;

use super::benchmark::{Benchmark, Case};
use super::contestant::Contestant;
use super::results::{BenchmarkResults, Entry};
use super::roster::Roster;
use crate::failure::{Failure, STATUS_USAGE};
use crate::measuring::limits;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::workload_run::{Stop, Workloads};
use crate::measuring::{interrupt, progress_bar};

/// For each contestant in each case: bounds the time that a noisy machine can cost.
const RETRIES: usize = 1;
/// What a round takes beside what it measures: a process, its threads, a look for noise.
const OVERHEAD: Duration = Duration::from_millis(60);

/// How long and how often is measured.
#[derive(Clone, Copy)]
pub struct Effort {
    pub rounds: usize,
    pub seconds: Duration,
    pub pin: bool,
    pub seed: u64,
}

impl Effort {
    pub fn new(rounds: u32, seconds: Duration) -> Self {
        Effort { rounds: rounds as usize, seconds, pin: false, seed: 0 }
    }
}

pub struct Suite {
    pub workloads: Workloads,
    pub roster: Roster,
    pub effort: Effort,
    pub benchmarks: Vec<BenchmarkResults>,
    pub noise: NoiseFilter,
    pub interrupted: bool,
}

impl Suite {
    pub fn new(
        benchmarks: Vec<Benchmark>,
        asked: &[Contestant],
        effort: Effort,
        timeout: Duration,
    ) -> Result<Self, Failure> {
        check_threads(&benchmarks)?;
        let workloads = Workloads::new(timeout)?;
        let roster = Roster::of(asked, &workloads)?;
        let with_contestants = |benchmark: Benchmark| {
            let (present, absent) = roster.for_benchmark(&benchmark);
            let effort = (effort.seconds.as_secs_f64(), effort.rounds);
            BenchmarkResults::new(benchmark, present, absent, effort, RETRIES)
        };
        let benchmarks: Vec<_> = benchmarks.into_iter().map(with_contestants).collect();
        if benchmarks.iter().all(|results| results.contestants.is_empty()) {
            return Err(nobody(&benchmarks));
        }
        let noise = NoiseFilter::new();
        Ok(Suite { workloads, roster, effort, benchmarks, noise, interrupted: false })
    }

    /// Case by case, contestant by contestant.
    fn runs_a_round(&self) -> usize {
        let able = |entry: &&Entry| entry.unable.is_none();
        let cases = self.benchmarks.iter().flat_map(|results| &results.cases);
        cases.map(|results| results.entries.iter().filter(able).count()).sum()
    }

    /// What is about to be run, and how long that will take on a quiet machine.
    pub fn announcement(&self) -> String {
        let runs = self.runs_a_round();
        let cases: usize = self.benchmarks.iter().map(|results| results.cases.len()).sum();
        let all = u32::try_from(runs * self.effort.rounds).unwrap_or(u32::MAX);
        let estimate = (self.effort.seconds + OVERHEAD).saturating_mul(all);
        let counted = |count: usize, what: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { "s" })
        };
        format!(
            "{}, {} of {} of {} s: about {}",
            counted(cases, "case"),
            counted(self.effort.rounds, "round"),
            counted(runs, "run"),
            self.effort.seconds.as_secs_f64(),
            minutes(estimate)
        )
    }

    /// Until all is measured, or until it is interrupted.
    pub fn run(&mut self) -> Result<(), Failure> {
        interrupt::watch();
        let bar = progress_bar(self.runs_a_round() * self.effort.rounds);
        let mut benchmarks = std::mem::take(&mut self.benchmarks);
        let result = (0..self.effort.rounds).try_for_each(|round| {
            benchmarks.iter_mut().try_for_each(|results| self.round(round, results, &bar))
        });
        self.benchmarks = benchmarks;
        match result {
            Ok(()) => {
                bar.finish_and_clear();
                Ok(())
            }
            Err(Stop::Interrupted) => {
                self.interrupted = true;
                Ok(())
            }
            Err(Stop::System(failure)) => Err(failure),
            Err(Stop::Failed(reason)) => unreachable!("{reason}: kept with its entry"),
        }
    }

    fn round(
        &mut self,
        round: usize,
        results: &mut BenchmarkResults,
        bar: &indicatif::ProgressBar,
    ) -> Result<(), Stop> {
        let contestants = results.contestants.len();
        let benchmark = &results.benchmark;
        for (index, results) in results.cases.iter_mut().enumerate() {
            for step in 0..contestants {
                // Who comes first rotates, so that a drift of the machine favours nobody.
                let entry = &mut results.entries[(round + index + step) % contestants];
                if entry.unable.is_some() {
                    continue;
                }
                let (name, case) = (benchmark.name, &results.case.name);
                bar.set_message(format!("{name} {case} {}", entry.contestant));
                match self.one(round, benchmark, &results.case, entry) {
                    Err(Stop::Failed(reason)) => entry.failure = Some(reason),
                    // What had been measured before is still worth telling.
                    Err(Stop::System(failure)) => entry.failure = Some(failure.to_string()),
                    other => other?,
                }
                bar.inc(1);
            }
        }
        Ok(())
    }

    /// A round of one contestant in one case, again if it was disturbed.
    fn one(
        &mut self,
        round: usize,
        benchmark: &Benchmark,
        case: &Case,
        entry: &mut Entry,
    ) -> Result<(), Stop> {
        while entry.failure.is_none() {
            let ld_preload = self.roster.ld_preload(entry.contestant);
            let parameters = self.parameters(round, benchmark, case, entry.contestant);
            let run = self.workloads.run(benchmark.workload, parameters, &ld_preload)?;
            if self.noise.accepts(&mut entry.retries_left) {
                entry.runs.push(run);
                break;
            }
        }
        Ok(())
    }

    fn parameters(
        &self,
        round: usize,
        benchmark: &Benchmark,
        case: &Case,
        contestant: Contestant,
    ) -> Vec<String> {
        let mut words: Vec<String> =
            case.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        words.push(format!("impl={}", contestant.implementation().name()));
        // What lasts for so many turns isn't told how long.
        if !benchmark.counts_turns && case.parameter("seconds").is_none() {
            words.push(format!("seconds={}", self.effort.seconds.as_secs_f64()));
        }
        if case.parameter("cs").is_some() || case.parameter("ncs").is_some() {
            words.push(format!("loops_per_us={}", self.workloads.loops_per_us));
        }
        if benchmark.draws {
            words.push(format!("seed={}", self.effort.seed.wrapping_add(round as u64)));
        }
        if self.effort.pin {
            words.push("pin=1".to_owned());
        }
        words
    }
}

/// A case that can't be started is said at once, and not after minutes of others.
fn check_threads(benchmarks: &[Benchmark]) -> Result<(), Failure> {
    let Some(limit) = limits::threads() else { return Ok(()) };
    let cases = benchmarks.iter().flat_map(|each| each.cases.iter().map(move |case| (each, case)));
    let most = cases.max_by(|(_, one), (_, other)| one.threads().total_cmp(&other.threads()));
    match most {
        Some((benchmark, case)) if case.threads() > limit.threads as f64 => {
            let (name, threads) = (benchmark.name, case.threads());
            let message = format!("{name} {}: {threads} threads are too many: {limit}", case.name);
            Err(Failure::new(STATUS_USAGE, message))
        }
        _ => Ok(()),
    }
}

fn nobody(benchmarks: &[BenchmarkResults]) -> Failure {
    let mut lines = vec!["none of the implementations asked for can be measured:".to_owned()];
    for results in benchmarks {
        let able: Vec<&str> = results.benchmark.able.iter().map(|able| able.name()).collect();
        lines.extend(results.absent.iter().map(|absent| {
            format!("  {}: {}: {}", results.benchmark.name, absent.contestant, absent.reason)
        }));
        let able: Vec<&str> = able.into_iter().filter(|name| *name != "broken").collect();
        lines.push(format!(
            "  {} can be measured with {}",
            results.benchmark.name,
            able.join(", ")
        ));
    }
    Failure::new(STATUS_USAGE, lines.join("\n"))
}

/// A length of time as people say it.
pub fn minutes(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        1 => "1 second".to_owned(),
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
        assert_eq!(said(0.2), "1 second");
        assert_eq!(said(89.0), "89 seconds");
        assert_eq!(said(115.0), "2 minutes");
    }
}
