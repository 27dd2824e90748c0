//! Compares the runs of a program.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::method;
use super::program_table::{Summary, render};
use super::side::{Both, Pair, Side};
use crate::args::CompareArguments;
use crate::bench::outcome::provenance;
use crate::failure::{Failure, STATUS_FAILED};
use crate::measuring::child::{self, Ending, Launch, Outcome, Sample, Stdout};
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::{Output, write_page};
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use crate::preload::Preload;
use crate::program::{ProgramError, words};
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
    summary: Option<Summary>,
}

/// Why measuring stopped before its end.
enum Stop {
    Interrupted,
    Failed(Failure),
}

pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    let runner = Runner::new(arguments)?;
    interrupt::watch();
    let mut pairs = Vec::new();
    let mut noise = NoiseFilter::new();
    let stopped = runner.collect(arguments, &mut pairs, &mut noise).err();

    let output = Output { json: arguments.json.as_ref() };
    let machine = Machine::this();
    let summary = (!pairs.is_empty()).then(|| Summary::of(&pairs));
    if let Some(summary) = &summary {
        output.text(&render(&machine, &pairs, summary, &noise))?;
    }
    let command = arguments.command.iter().map(|word| word.to_string_lossy().into_owned());
    let command: Vec<String> = command.collect();
    if let (Some(summary), Some(path)) = (&summary, &arguments.report) {
        let text = method().into_iter().chain(noise.summary("pairs")).collect();
        let heading = "How it was measured".to_owned();
        let page = Page {
            title: "furwock compare: glibc's locks and furwock's".to_owned(),
            provenance: provenance(&machine),
            summary: vec![summary.finding(&pairs)],
            sections: vec![
                summary.section(&command.join(" "), pairs.len()),
                Section { heading, text, blocks: Vec::new() },
            ],
        };
        write_page(path, &page)?;
    }
    let results = Results { noisy_pairs: &noise, command, pairs: &pairs, summary };
    output.json(&Document::new(&machine, Some(runner.preload.path()), results))?;
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
    timeout: Option<Duration>,
}

impl<'a> Runner<'a> {
    fn new(arguments: &'a CompareArguments) -> Result<Self, Failure> {
        let preload = Preload::find()?;
        let program = program::find(&arguments.command[0])?;
        if !arguments.force {
            obstacle::check(&program)?;
        }
        Ok(Runner { arguments, program, preload, timeout: arguments.timeout })
    }

    fn collect(
        &self,
        arguments: &CompareArguments,
        pairs: &mut Vec<Pair>,
        noise: &mut NoiseFilter,
    ) -> Result<(), Stop> {
        let wanted = arguments.pairs.unwrap_or(PAIRS) as usize;
        let warmups = arguments.warmup.unwrap_or(WARMUPS) as usize;
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
            stdout,
            timeout: self.timeout,
        });
        match outcome {
            Ok(Outcome { ending: Ending::Exited(0), sample, .. }) => Ok(sample),
            Ok(Outcome { ending: Ending::Interrupted, .. }) => Err(Stop::Interrupted),
            Ok(outcome) => Err(Stop::Failed(self.failure(side, &outcome))),
            Err(error) => {
                let path = self.program.clone();
                let reason = words(&error);
                Err(Stop::Failed(ProgramError::NotExecutable { path, reason }.into()))
            }
        }
    }

    fn failure(&self, side: Side, outcome: &Outcome) -> Failure {
        let program = self.arguments.command[0].display();
        let mut message = format!("{program} on {side}: {}", outcome.ending);
        let shown = outcome.stderr.len().saturating_sub(STDERR_SHOWN_MAX);
        let stderr = String::from_utf8_lossy(&outcome.stderr[shown..]);
        if stderr.trim().is_empty() {
            message += " (it wrote nothing to standard error)";
        } else {
            message += "; its standard error:\n";
            message += stderr.trim_end();
        }
        Failure::new(STATUS_FAILED, message)
    }
}
