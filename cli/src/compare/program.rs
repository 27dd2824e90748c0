//! Compares the runs of a program.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde::Serialize;

use super::arguments::CompareArguments;
use super::exports;
use super::program_table::{Shown, Summary};
use super::side::{Both, Pair, Side};
use super::steps::{self, Step};
use super::variations::{self, Setting, Variation};
use crate::failure::{Failure, STATUS_FAILED, STATUS_NOT_FOUND};
use crate::measuring::child::{self, Ending, Launch, Outcome, Sample, Stdout};
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::{check_writable, write_to};
use crate::measuring::workload_run::Stop;
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use crate::preload::Preload;
use crate::{obstacle, program};

const PAIRS_MIN: u32 = 10;
const PAIRS_MAX: u32 = 100;
/// Pairs between those bounds are as many as fit into this time.
const ENOUGH: Duration = Duration::from_secs(3);
const WARMUPS: u32 = 1;
/// As much of a failed run's standard error as is shown, from its end.
const STDERR_SHOWN_MAX: usize = 8192;

/// How often runs of a side ended with a status.
pub type Statuses = BTreeMap<i32, usize>;

/// What was measured of a variation.
pub struct Measured {
    pub variation: Variation,
    pub pairs: Vec<Pair>,
    /// How many were wanted.
    pub wanted: usize,
    pub statuses: Both<Statuses>,
    pub summary: Option<Summary>,
}

#[derive(Serialize)]
struct Results<'a> {
    interrupted: bool,
    noisy_pairs: &'a NoiseFilter,
    standard_input: String,
    #[serde(flatten)]
    one: Option<One<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variations: Vec<One<'a>>,
    /// As hyperfine's JSON has them.
    results: Vec<exports::Result<'a>>,
}

#[derive(Serialize)]
struct One<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
    command: Vec<String>,
    statuses: &'a Both<Statuses>,
    pairs: &'a [Pair],
    summary: Option<&'a Summary>,
}

impl<'a> One<'a> {
    fn of(measured: &'a Measured) -> Self {
        let Measured { variation, pairs, statuses, summary, .. } = measured;
        let pair = |(name, value): &'a Setting| (name.as_str(), value.as_str());
        One {
            parameters: variation.settings.iter().map(pair).collect(),
            command: variation.words(),
            statuses,
            pairs,
            summary: summary.as_ref(),
        }
    }
}

pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    let mut outputs = arguments.outputs();
    outputs.check()?;
    arguments.markdown.as_deref().map_or(Ok(()), check_writable)?;
    let runner = Runner::new(arguments)?;
    interrupt::watch();
    let mut noise = NoiseFilter::new();
    let mut all = Vec::new();
    let stopped = runner.collect_all(&mut all, &mut noise).err();
    let interrupted = matches!(stopped, Some(Stop::Interrupted));
    let is_empty = all.iter().all(|measured: &Measured| measured.pairs.is_empty());

    let machine = Machine::this();
    let shown =
        Shown { machine: &machine, all: &all, noise: &noise, interrupted, setup: runner.setup() };
    let text = if is_empty { String::new() } else { shown.text() };
    if is_empty {
        // A page would be empty.
        outputs.report = None;
    }
    let has_parameters = all.iter().any(|measured| !measured.variation.settings.is_empty());
    let mut ones = all.iter().map(One::of);
    let results = Results {
        interrupted,
        noisy_pairs: &noise,
        standard_input: runner.input_name(),
        one: if has_parameters { None } else { ones.next() },
        variations: ones.collect(),
        results: all.iter().flat_map(exports::results).collect(),
    };
    let document = Document::new(&machine, Some(runner.preload.path()), results);
    let csv = |path: &Path| exports::write_csv(path, &all);
    outputs.write(&text, csv, || shown.page(), &document)?;
    let markdown = |path: &Path| std::fs::write(path, shown.markdown());
    write_to(arguments.markdown.as_deref(), markdown)?;
    match stopped {
        None => Ok(0),
        Some(Stop::Interrupted) if is_empty => Err(Failure::new(
            STATUS_INTERRUPTED,
            "interrupted before the first pair was complete: there is nothing to show",
        )),
        Some(Stop::Interrupted) => Ok(STATUS_INTERRUPTED),
        Some(Stop::Failed(failure)) => Err(failure),
    }
}

struct Runner<'a> {
    arguments: &'a CompareArguments,
    /// With the file of each one's program.
    variations: Vec<(Variation, PathBuf)>,
    preload: Preload,
}

impl<'a> Runner<'a> {
    /// Refuses what can be known to fail before anything runs.
    fn new(arguments: &'a CompareArguments) -> Result<Self, Failure> {
        let preload = Preload::find()?;
        let mut variations = Vec::new();
        for variation in variations::of(arguments)? {
            let program = found(&variation.command[0], arguments)?;
            if !arguments.force {
                obstacle::check(&program, &variation.command, &preload)?;
            }
            variations.push((variation, program));
        }
        let runner = Runner { arguments, variations, preload };
        if let Some(path) = runner.input() {
            let cannot_read = |error| {
                let message = format!("--input: cannot read {}: {error}", path.display());
                Failure::new(STATUS_FAILED, message)
            };
            File::open(path).map_err(cannot_read)?;
        }
        if let Stdout::File(path) = runner.stdout() {
            check_writable(path)?;
        }
        Ok(runner)
    }

    /// None is /dev/null.
    fn input(&self) -> Option<&'a Path> {
        self.arguments.input.as_deref().filter(|path| *path != Path::new("null"))
    }

    fn input_name(&self) -> String {
        self.input().map_or_else(|| "/dev/null".to_owned(), |path| path.display().to_string())
    }

    fn stdout(&self) -> Stdout<'a> {
        let to = self.arguments.output.as_deref();
        match to.and_then(Path::to_str) {
            None if to.is_none() && self.arguments.show_output => Stdout::Show,
            Some("inherit") => Stdout::Show,
            Some("pipe") => Stdout::Pipe,
            Some("null") => Stdout::Discard,
            _ => to.map_or(Stdout::Discard, Stdout::File),
        }
    }

    /// What the runs read and write, for people.
    fn setup(&self) -> String {
        let output = match self.stdout() {
            Stdout::Discard | Stdout::Keep => "to /dev/null".to_owned(),
            Stdout::Pipe => "read and discarded".to_owned(),
            Stdout::Show => "shown".to_owned(),
            Stdout::File(path) => format!("to {}", path.display()),
        };
        format!("Standard input is {} (--input), output goes {output}.", self.input_name())
            .replace("goes read", "is read")
            .replace("goes shown", "is shown")
    }

    fn pairs_min(&self) -> usize {
        let CompareArguments { pairs, min_runs, max_runs, .. } = *self.arguments;
        let least = PAIRS_MIN.min(max_runs.unwrap_or(u32::MAX));
        pairs.or(min_runs).unwrap_or(least) as usize
    }

    /// How many pairs are wanted if one takes so long.
    fn wanted(&self, pair: Duration) -> usize {
        let CompareArguments { pairs, max_runs, .. } = *self.arguments;
        let least = self.pairs_min();
        if pairs.is_some() {
            return least;
        }
        let most = max_runs.map_or(PAIRS_MAX as usize, |most| most as usize).max(least);
        let fitting = ENOUGH.as_secs_f64() / pair.as_secs_f64().max(1e-6);
        (fitting as usize).clamp(least, most)
    }

    fn warmups(&self) -> usize {
        self.arguments.warmup.unwrap_or(WARMUPS) as usize
    }

    fn collect_all(&self, all: &mut Vec<Measured>, noise: &mut NoiseFilter) -> Result<(), Stop> {
        let each = self.pairs_min() + self.warmups();
        let bar = progress_bar(self.variations.len() * each);
        for (variation, program) in &self.variations {
            let variation = variation.clone();
            bar.set_message(variation.name());
            let mut measured = Measured {
                variation,
                pairs: Vec::new(),
                wanted: self.pairs_min(),
                statuses: Both { glibc: Statuses::new(), furwock: Statuses::new() },
                summary: None,
            };
            let collected = self
                .step(Step::Setup, &measured.variation)
                .and_then(|()| self.collect(program, &mut measured, noise, &bar));
            let cleaned = self.step(Step::Cleanup, &measured.variation);
            measured.summary = (!measured.pairs.is_empty()).then(|| Summary::of(&measured.pairs));
            all.push(measured);
            collected.and(cleaned).inspect_err(|_| bar.finish_and_clear())?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn collect(
        &self,
        program: &Path,
        measured: &mut Measured,
        noise: &mut NoiseFilter,
        bar: &ProgressBar,
    ) -> Result<(), Stop> {
        for warmup in 0..self.warmups() {
            Both::try_in_order(warmup, |side| self.run(program, &measured.variation, side))?;
            bar.inc(1);
        }
        // Retries are limited: a noisy machine costs at most half as many pairs again.
        let mut retries = self.pairs_min().div_ceil(2);
        while measured.pairs.len() < measured.wanted {
            let begin = Instant::now();
            let order = Side::order(measured.pairs.len());
            let run = |side| self.run(program, &measured.variation, side);
            let ran = Both::try_in_order(measured.pairs.len(), run)?;
            if !noise.accepts(&mut retries) {
                continue;
            }
            *measured.statuses.glibc.entry(ran.glibc.1).or_default() += 1;
            *measured.statuses.furwock.entry(ran.furwock.1).or_default() += 1;
            measured.pairs.push(Pair { order, samples: ran.map(|(sample, _)| *sample) });
            bar.inc(1);
            if measured.pairs.len() == 1 {
                measured.wanted = self.wanted(begin.elapsed());
                retries += (measured.wanted - self.pairs_min()).div_ceil(2);
                bar.inc_length((measured.wanted - self.pairs_min()) as u64);
            }
        }
        Ok(())
    }

    fn step(&self, step: Step, variation: &Variation) -> Result<(), Stop> {
        let CompareArguments { setup, prepare, conclude, cleanup, .. } = self.arguments;
        let line = match step {
            Step::Setup => setup,
            Step::Prepare => prepare,
            Step::Conclude => conclude,
            Step::Cleanup => cleanup,
        };
        let Some(line) = line else { return Ok(()) };
        let ld_preload = self.preload.environment(false);
        let shown = matches!(self.stdout(), Stdout::Show);
        steps::run(step, &variation.fill(line), &ld_preload, shown)
    }

    /// Returns the exit status, too, which may be one that is to be ignored.
    fn run(
        &self,
        program: &Path,
        variation: &Variation,
        side: Side,
    ) -> Result<(Sample, i32), Stop> {
        self.step(Step::Prepare, variation)?;
        if interrupt::asked() {
            return Err(Stop::Interrupted);
        }
        let outcome = child::run(&Launch {
            program,
            arguments: &variation.command,
            ld_preload: &self.preload.environment(side == Side::Furwock),
            record: None,
            input: self.input(),
            stdout: self.stdout(),
            timeout: self.arguments.timeout,
            interruptible: true,
        });
        let outcome =
            outcome.map_err(|error| Stop::Failed(program::not_executable(program, &error)))?;
        let status = match outcome.ending {
            Ending::Exited(status) if status == 0 || self.arguments.ignore_failure => status,
            Ending::Interrupted => return Err(Stop::Interrupted),
            _ => return Err(Stop::failed(self.reason(variation, side, &outcome))),
        };
        self.step(Step::Conclude, variation)?;
        Ok((outcome.sample, status))
    }

    fn reason(&self, variation: &Variation, side: Side, outcome: &Outcome) -> String {
        let program = variation.command[0].display();
        let shown = outcome.stderr.len().saturating_sub(STDERR_SHOWN_MAX);
        let stderr = String::from_utf8_lossy(&outcome.stderr[shown..]);
        let advice = match outcome.ending {
            Ending::Exited(_) => " (--ignore-failure counts such runs)",
            _ => "",
        };
        let stderr = match stderr.trim_end() {
            "" => " (it wrote nothing to standard error)".to_owned(),
            stderr => format!("; its standard error:\n{stderr}"),
        };
        format!("{program} on {side}: {}{advice}{stderr}", outcome.ending)
    }
}

/// The program's file. hyperfine takes a command line as one word.
fn found(name: &OsStr, arguments: &CompareArguments) -> Result<PathBuf, Failure> {
    let is_line = arguments.command.len() == 1 && name.as_encoded_bytes().contains(&b' ');
    program::find(name).map_err(|failure| match failure.status {
        STATUS_NOT_FOUND if is_line => Failure::new(
            failure.status,
            format!("{failure} (a command line as one word needs a shell: --shell sh)"),
        ),
        _ => failure,
    })
}
