//! Runs benchmarks: all cases with all contestants, interleaved by rounds.

use std::time::Duration;

use indicatif::ProgressBar;

use super::benchmark::{Benchmark, Case};
use super::results::{BenchmarkResults, CaseResults};
use super::roster::Roster;
use crate::contestants::Contestant;
use crate::failure::{Failure, STATUS_USAGE};
use crate::measuring::limits;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::Outputs;
use crate::measuring::tally::counted;
use crate::measuring::workload_run::{Stop, Workloads};
use crate::measuring::{interrupt, progress_bar};

/// How many noisy rounds of each contestant in each case are dropped: limits the time that noise
/// costs.
const RETRIES: usize = 1;
/// The overhead of a round: a process, its threads, a probe for noise.
const OVERHEAD: Duration = Duration::from_millis(60);

/// How long and how often is measured.
#[derive(Clone, Copy)]
pub struct Effort {
    pub rounds: usize,
    /// Rounds before those, which don't count.
    pub warmups: usize,
    pub seconds: Duration,
    /// A round is killed after so long.
    pub timeout: Duration,
    pub pin: bool,
    pub seed: u64,
    /// Do the contestants of a round belong together, so that noise repeats all of them?
    pub paired: bool,
    /// Run even if the preload can't act?
    pub force: bool,
}

impl Effort {
    pub fn new(rounds: u32, seconds: Duration, timeout: Duration) -> Self {
        Effort {
            rounds: rounds as usize,
            warmups: 0,
            seconds,
            timeout,
            pin: false,
            seed: 0,
            paired: false,
            force: false,
        }
    }
}

/// A round ended before its time.
pub struct Interrupted;

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
    ) -> Result<Self, Failure> {
        check_threads(&benchmarks)?;
        let workloads = Workloads::new(effort.timeout)?;
        let roster = Roster::of(asked, &workloads, effort.force)?;
        let with_contestants = |benchmark: Benchmark| {
            let (present, absent) = roster.for_benchmark(&benchmark);
            let effort = (effort.seconds.as_secs_f64(), effort.rounds);
            BenchmarkResults::new(benchmark, present, absent, effort, RETRIES)
        };
        let benchmarks: Vec<_> = benchmarks.into_iter().map(with_contestants).collect();
        if benchmarks.iter().all(|results| results.contestants.is_empty()) {
            return Err(no_contestants(&benchmarks));
        }
        let noise = NoiseFilter::new();
        Ok(Suite { workloads, roster, effort, benchmarks, noise, interrupted: false })
    }

    /// Warns of outputs that can't be written, announces the suite, and runs it.
    pub fn measured(
        benchmarks: Vec<Benchmark>,
        asked: &[Contestant],
        effort: Effort,
        outputs: &Outputs,
    ) -> Result<Self, Failure> {
        outputs.check()?;
        let mut suite = Suite::new(benchmarks, asked, effort)?;
        anstream::eprintln!("furwock: {}", suite.announcement());
        suite.run();
        Ok(suite)
    }

    /// Case by case, contestant by contestant.
    fn runs_a_round(&self) -> usize {
        let cases = self.benchmarks.iter().flat_map(|results| &results.cases);
        let able = |results: &CaseResults| {
            results.entries.iter().filter(|entry| entry.unable.is_none()).count()
        };
        cases.map(able).sum()
    }

    /// What is about to be run, and how long that will take on a quiet machine.
    pub fn announcement(&self) -> String {
        let runs = self.runs_a_round();
        let cases = self.benchmarks.iter().flat_map(|results| &results.cases);
        let all = u32::try_from(runs * self.effort.rounds).unwrap_or(u32::MAX);
        let estimate = (self.effort.seconds + OVERHEAD).saturating_mul(all);
        format!(
            "{}, {} of {} of {} s: about {}",
            counted(cases.count(), "case"),
            counted(self.effort.rounds, "round"),
            counted(runs, "run"),
            self.effort.seconds.as_secs_f64(),
            minutes(estimate)
        )
    }

    /// Until all is measured, or until it is interrupted: what was measured before is still
    /// printed.
    fn run(&mut self) {
        interrupt::watch();
        let rounds = self.effort.warmups + self.effort.rounds;
        let bar = progress_bar(self.runs_a_round() * rounds);
        let mut benchmarks = std::mem::take(&mut self.benchmarks);
        let result = (0..rounds).try_for_each(|round| {
            benchmarks.iter_mut().try_for_each(|results| self.round(round, results, &bar))
        });
        self.benchmarks = benchmarks;
        self.interrupted = result.is_err();
        bar.finish_and_clear();
    }

    fn round(
        &mut self,
        round: usize,
        results: &mut BenchmarkResults,
        bar: &ProgressBar,
    ) -> Result<(), Interrupted> {
        let contestants = results.contestants.len();
        for (index, case) in results.cases.iter_mut().enumerate() {
            // The order rotates, so that a drift of the machine favours no contestant.
            let order = (0..contestants).map(|step| (round + index + step) % contestants);
            let able: Vec<usize> = order.filter(|at| case.entries[*at].unable.is_none()).collect();
            let together = if self.effort.paired { able.len().max(1) } else { 1 };
            for group in able.chunks(together) {
                self.run_group(round, &results.benchmark, case, group, bar)?;
                bar.inc(group.len() as u64);
            }
        }
        Ok(())
    }

    /// A round of one contestant in one case, or of a pair, again if it was disturbed.
    fn run_group(
        &mut self,
        round: usize,
        benchmark: &Benchmark,
        case: &mut CaseResults,
        group: &[usize],
        bar: &ProgressBar,
    ) -> Result<(), Interrupted> {
        let first = *group.iter().min().expect("not empty");
        while group.iter().all(|at| case.entries[*at].failure.is_none()) {
            let mut runs = Vec::new();
            for at in group {
                let entry = &mut case.entries[*at];
                let contestant = entry.contestant;
                bar.set_message(format!("{} {} {contestant}", benchmark.name, case.case.name));
                let ld_preload = self.roster.ld_preload(contestant);
                let parameters = self.parameters(round, benchmark, &case.case, contestant);
                let workload = benchmark.workload;
                let run = self.roster.place(contestant).map_err(Stop::from).and_then(|place| {
                    self.workloads.run(workload, parameters, &ld_preload, place.as_ref())
                });
                match run {
                    Ok(run) => runs.push((*at, run)),
                    Err(Stop::Interrupted) => return Err(Interrupted),
                    Err(Stop::Failed(failure)) => entry.failure = Some(failure.to_string()),
                }
                if entry.failure.is_some() {
                    return Ok(());
                }
            }
            let counts = round >= self.effort.warmups;
            let quiet = self.noise.accepts(&mut case.entries[first].retries_left);
            if quiet && counts {
                runs.into_iter().for_each(|(at, run)| case.entries[at].runs.push(run));
            }
            if quiet || !counts {
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
        words.push(format!("impl={contestant}"));
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

/// Refuses a case with too many threads before anything is measured.
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

fn no_contestants(benchmarks: &[BenchmarkResults]) -> Failure {
    let mut lines = vec!["none of the implementations asked for can be measured:".to_owned()];
    for results in benchmarks {
        let name = results.benchmark.name;
        let absent = results.absent.iter();
        lines.extend(absent.map(|each| format!("  {name}: {}: {}", each.contestant, each.reason)));
        let able = results.benchmark.able.iter().filter(|able| **able != Contestant::Broken);
        let able: Vec<&str> = able.map(|able| able.name()).collect();
        lines.push(format!("  {name} can be measured with {}", able.join(", ")));
    }
    Failure::new(STATUS_USAGE, lines.join("\n"))
}

/// A length of time, rounded.
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
    fn estimates_are_round_numbers() {
        let said = |seconds| minutes(Duration::from_secs_f64(seconds));
        assert_eq!(said(0.2), "1 second");
        assert_eq!(said(89.0), "89 seconds");
        assert_eq!(said(115.0), "2 minutes");
    }
}
