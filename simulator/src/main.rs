//! `furwock-simulate`: furwock's locks, and published ones beside them, on simulated machines.
//!
//! A grid is a list of cases (`grid`, `case`), each run in a process of its own (`pool`): the
//! simulated threads (`stage`) contend (`contest`) in a workload (`workloads`) for furwock's lock
//! (`ours`) or a yardstick (`yardsticks`). What comes of it (`outcome`, `figures`) becomes tables
//! and a page (`tables`, `page`). `sweep` does so for other values of furwock's constants
//! (`constants`), and `validation` compares with what was measured and published.
//!
//! furwock is part of it only in builds with `--cfg simulated`, which scripts/simulate.sh makes.

mod case;
mod constants;
mod contest;
mod die;
mod figures;
mod grid;
mod options;
#[cfg(simulated)]
mod ours;
mod outcome;
mod page;
mod pool;
mod stage;
mod sweep;
mod tables;
mod validation;
mod workloads;
mod yardsticks;

/// The page's code and the tables' are the command's own.
#[allow(dead_code, unused_imports)]
#[path = "../../cli/src/report/mod.rs"]
mod report;

#[allow(dead_code)]
mod measuring;

#[allow(dead_code)]
mod harness;

#[allow(dead_code, unused_imports)]
#[path = "../../cli/src/statistics/mod.rs"]
mod statistics;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use case::Case;
use options::{Hidden, Options};
use outcome::Outcome;

/// Objects lie at the same addresses in each process: addresses decide which share a line, and
/// which of furwock's buckets a word has.
#[global_allocator]
static HEAP: machine::Heap = machine::Heap;

/// A cell or a comparison failed; the command line made no sense.
const STATUS_FAILED: u8 = 1;
const STATUS_USAGE: u8 = 2;

/// A cell that takes so long on the host is ended: it never would.
const HOST_SECONDS_MAX: u32 = 300;

fn main() -> ExitCode {
    // Before anything is allocated: children inherit it.
    machine::same_addresses();
    let options = Options::parse();
    if let Some(Hidden::Cell { case }) = &options.hidden {
        return cell(case);
    }
    if !cfg!(simulated) {
        eprintln!(
            "furwock-simulate: built without furwock: `sh scripts/simulate.sh` builds it with \
             RUSTFLAGS=\"--cfg simulated\"; yardsticks alone run now"
        );
    }
    let result = match &options.validate {
        Some(parts) => validation::run(&options, parts),
        None if options.sweep => sweep(&options),
        None => run(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => STATUS_FAILED.into(),
        Err(message) => {
            eprintln!("furwock-simulate: {message}");
            STATUS_USAGE.into()
        }
    }
}

/// Processes that run at a time.
fn jobs(options: &Options) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, |count| count.get());
    options.jobs.unwrap_or_else(processors)
}

/// One case, in a process of its own.
fn cell(case: &str) -> ExitCode {
    let case: Case = match serde_json::from_str(case) {
        Ok(case) => case,
        Err(error) => {
            eprintln!("furwock-simulate: not a case: {error}");
            return STATUS_USAGE.into();
        }
    };
    // SAFETY: only asks for a signal, which ends the process.
    unsafe { libc::alarm(HOST_SECONDS_MAX) };
    let start = std::time::Instant::now();
    let outcome = match workloads::run(&case) {
        Ok(figures) => Outcome {
            case,
            figures,
            trace: format!("{:016x}", stage::last_trace()),
            host_s: start.elapsed().as_secs_f64(),
            failure: None,
            used: constants::used(),
        },
        Err(failure) => Outcome::failed(&case, failure),
    };
    println!("{}", serde_json::to_string(&outcome).expect("plain data"));
    ExitCode::SUCCESS
}

/// A grid; true if no case failed.
fn run(options: &Options) -> Result<bool, String> {
    let cases = grid::cases(options)?;
    if options.trace {
        return trace(&cases);
    }
    eprintln!("furwock-simulate: {} cells", cases.len());
    let outcomes = pool::run(&cases, jobs(options));
    let grids = tables::Grid::all(&outcomes);
    let text: String = grids.iter().map(tables::Grid::text).collect();
    let text = text + &tables::failures(&outcomes) + &speed(&outcomes);
    print(options, &text);
    write(options, &outcomes, |provenance| page::page(&outcomes, provenance))?;
    Ok(outcomes.iter().all(|outcome| outcome.failure.is_none()))
}

/// furwock's constants, one after another; true if no case failed.
fn sweep(options: &Options) -> Result<bool, String> {
    let sweep = sweep::run(options, jobs(options))?;
    let outcomes = &sweep.outcomes;
    print(options, &(sweep.text() + &tables::failures(outcomes) + &speed(outcomes)));
    write(options, outcomes, |provenance| sweep.page(provenance))?;
    Ok(outcomes.iter().all(|outcome| outcome.failure.is_none()))
}

/// Standard output has room for the tables or for JSON.
fn print(options: &Options, text: &str) {
    match options.json.as_deref().is_some_and(|path| path == Path::new("-")) {
        true => anstream::eprint!("{text}"),
        false => anstream::print!("{text}"),
    }
}

fn trace(cases: &[Case]) -> Result<bool, String> {
    let [case] = cases else {
        return Err(format!("--trace needs one cell, and the options leave {}", cases.len()));
    };
    stage::trace_next_run();
    let result = workloads::run(case);
    Ok(result.map_err(|failure| println!("FAILED: {failure}")).is_ok())
}

/// How fast the host simulates.
fn speed(outcomes: &[Outcome]) -> String {
    let seconds: f64 = outcomes.iter().map(|outcome| outcome.host_s).sum();
    let accesses: f64 =
        outcomes.iter().filter_map(|outcome| outcome.figure("simulated_accesses")).sum();
    format!(
        "{} cells, {:.0} s of the host's processors, {:.1} million accesses a second\n",
        outcomes.len(),
        seconds,
        accesses / seconds / 1e6
    )
}

fn write(
    options: &Options,
    outcomes: &[Outcome],
    page: impl FnOnce(Vec<String>) -> report::model::Page,
) -> Result<(), String> {
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(outcomes).expect("plain data") + "\n";
        write_file(path, &text)?;
    }
    if let Some(path) = &options.report {
        let command: Vec<String> = std::env::args().skip(1).collect();
        let provenance = vec![
            format!("furwock-simulate {}", command.join(" ")),
            format!("seed {}", options.seed),
        ];
        write_file(path, &report::html(&page(provenance)))?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    let written = match path.to_str() {
        Some("-") => std::io::stdout().write_all(text.as_bytes()),
        _ => std::fs::write(path, text),
    };
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}
