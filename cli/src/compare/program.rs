//! Compares the runs of a program.

use std::path::PathBuf;

use serde::Serialize;

use super::method;
use super::program_table::{Summary, render};
use super::side::{Both, Pair, Side};
use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::measuring::child::{self, Ending, Launch, Outcome, Sample, Stdout};
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::workload_run::Stop;
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use crate::preload::Preload;
use crate::report::model::{Page, Section};
use crate::{obstacle, program};

const PAIRS: u32 = 10;
const WARMUPS: u32 = 1;
/// As much of a failed run's standard error as is shown, from its end.
const STDERR_SHOWN_MAX: usize = 8192;

#[derive(Serialize)]
struct Results<'a> {
    noisy_pairs: &'a NoiseFilter,
    command: Vec<String>,
    pairs: &'a [Pair],
    summary: Option<&'a Summary>,
}

pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    let runner = Runner::new(arguments)?;
    interrupt::watch();
    let mut pairs = Vec::new();
    let mut noise = NoiseFilter::new();
    let stopped = runner.collect(&mut pairs, &mut noise).err();

    let machine = Machine::this();
    let summary = (!pairs.is_empty()).then(|| Summary::of(&pairs));
    let text = summary.as_ref().map_or(String::new(), |all| render(&machine, &pairs, all, &noise));
    let command = arguments.command.iter().map(|word| word.to_string_lossy().into_owned());
    let command: Vec<String> = command.collect();
    let page = || {
        let text = method().into_iter().chain(noise.summary("pairs")).collect();
        let figures = summary.iter().map(|all| all.section(&command.join(" "), pairs.len()));
        let method = Section::new("How we measured", text, Vec::new());
        Page {
            title: "furwock compare: glibc's locks and furwock's".to_owned(),
            provenance: machine.provenance(),
            summary: summary.iter().map(|all| all.finding(&pairs)).collect(),
            sections: figures.chain([method]).collect(),
        }
    };
    let mut outputs = arguments.outputs();
    if summary.is_none() {
        // A page would be empty.
        outputs.report = None;
    }
    let results = Results {
        noisy_pairs: &noise,
        command: command.clone(),
        pairs: &pairs,
        summary: summary.as_ref(),
    };
    let document = Document::new(&machine, Some(runner.preload.path()), results);
    outputs.write(&text, |_| Ok(()), page, &document)?;
    match stopped {
        None => Ok(0),
        Some(Stop::Interrupted) if pairs.is_empty() => {
            Err(Failure::new(STATUS_INTERRUPTED, "interrupted before the first pair was complete"))
        }
        Some(Stop::Interrupted) => Ok(STATUS_INTERRUPTED),
        Some(Stop::Failed(failure)) => Err(failure),
    }
}

struct Runner<'a> {
    arguments: &'a CompareArguments,
    program: PathBuf,
    preload: Preload,
}

impl<'a> Runner<'a> {
    fn new(arguments: &'a CompareArguments) -> Result<Self, Failure> {
        let preload = Preload::find()?;
        let program = program::find(&arguments.command[0])?;
        if !arguments.force {
            obstacle::check(&program, &arguments.command, &preload)?;
        }
        Ok(Runner { arguments, program, preload })
    }

    fn collect(&self, pairs: &mut Vec<Pair>, noise: &mut NoiseFilter) -> Result<(), Stop> {
        let wanted = self.arguments.pairs.unwrap_or(PAIRS) as usize;
        let warmups = self.arguments.warmup.unwrap_or(WARMUPS) as usize;
        let bar = progress_bar(wanted + warmups);
        for warmup in 0..warmups {
            Both::try_in_order(warmup, |side| self.run(side))?;
            bar.inc(1);
        }
        // Retries are limited: a noisy machine costs at most half as many pairs again.
        let mut retries = wanted.div_ceil(2);
        while pairs.len() < wanted {
            let order = Side::order(pairs.len());
            let samples = Both::try_in_order(pairs.len(), |side| self.run(side))?;
            if noise.accepts(&mut retries) {
                pairs.push(Pair { order, samples });
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn run(&self, side: Side) -> Result<Sample, Stop> {
        if interrupt::asked() {
            return Err(Stop::Interrupted);
        }
        let stdout = if self.arguments.show_output { Stdout::Show } else { Stdout::Discard };
        let outcome = child::run(&Launch {
            program: &self.program,
            arguments: &self.arguments.command,
            ld_preload: &self.preload.environment(side == Side::Furwock),
            record: None,
            stdout,
            timeout: self.arguments.timeout,
        });
        match outcome {
            Ok(Outcome { ending: Ending::Exited(0), sample, .. }) => Ok(sample),
            Ok(Outcome { ending: Ending::Interrupted, .. }) => Err(Stop::Interrupted),
            Ok(outcome) => Err(Stop::failed(self.reason(side, &outcome))),
            Err(error) => Err(Stop::Failed(program::not_executable(&self.program, &error))),
        }
    }

    fn reason(&self, side: Side, outcome: &Outcome) -> String {
        let program = self.arguments.command[0].display();
        let shown = outcome.stderr.len().saturating_sub(STDERR_SHOWN_MAX);
        let stderr = String::from_utf8_lossy(&outcome.stderr[shown..]);
        let stderr = match stderr.trim_end() {
            "" => " (it wrote nothing to standard error)".to_owned(),
            stderr => format!("; its standard error:\n{stderr}"),
        };
        format!("{program} on {side}: {}{stderr}", outcome.ending)
    }
}
