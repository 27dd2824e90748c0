//! `furwock doctor`: what this system offers furwock, what hurts, and what its operations cost.

mod costs;
mod finding;
mod probe;
mod service;
mod settings;
mod system;
mod text;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::failure::{Failure, STATUS_FAILED};
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::output::{print, warn_of, write_to};
use crate::preload::Preload;
use crate::streams::width_of;
use finding::{Finding, State};

/// Say what furwock can do on this system, what it leaves to glibc, and which settings hurt
///
/// Each finding is ok, a note (furwock works, but less well or without something) or a problem
/// (furwock can't serve programs here), and says how to mend it. With --costs it measures instead
/// what instructions, cache lines, system calls and wakes cost on this machine.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct DoctorArguments {
    /// Write the findings as JSON to FILE, or to stdout without FILE or with `-`
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    #[arg(conflicts_with = "costs")]
    pub json: Option<PathBuf>,

    /// Measure this machine's costs, and print them as a machine file of the simulator
    #[arg(long)]
    pub costs: bool,

    /// Write the machine file to FILE
    #[arg(long, value_name = "FILE", requires = "costs")]
    pub output: Option<PathBuf>,

    /// Say which locks this process has: what furwock asks of itself
    #[arg(long, hide = true)]
    pub probe: bool,
}

const NOTES: &str = "\
Costs:
  --costs takes at most 20 seconds. It binds threads to processors, and measures on all that the
  process may use (see taskset). What this machine can't show, such as the way to another socket,
  is an estimate, and marked so in the file. docs/simulator.md explains the fields.

Exit status:
  0    furwock can serve programs here, or the costs were measured
  1    it can't, or a file can't be written
  2    bad usage
  130  interrupted";

#[derive(Serialize)]
struct Found<'a> {
    serves: bool,
    findings: &'a [Finding],
}

/// Returns the exit status.
pub fn doctor(arguments: &DoctorArguments) -> Result<i32, Failure> {
    if arguments.probe {
        return probe::print().map(|()| 0);
    }
    if arguments.costs {
        return costs::run(arguments.output.as_deref());
    }
    let is_printed = |path: &PathBuf| path == Path::new("-");
    arguments.json.iter().filter(|path| !is_printed(path)).for_each(|path| warn_of(path));
    let preload = Preload::find();
    let mut findings = system::findings();
    findings.extend(service::findings(preload.as_ref()));
    findings.extend(settings::findings());
    let serves = !findings.iter().any(|finding| finding.state == State::Problem);
    let json = || {
        let machine = Machine::this();
        let found = Found { serves, findings: &findings };
        let document = Document::new(&machine, preload.as_ref().ok().map(Preload::path), found);
        serde_json::to_string_pretty(&document).expect("plain data") + "\n"
    };
    if arguments.json.as_ref().is_some_and(is_printed) {
        print(&json())?;
    } else {
        let columns = width_of(std::io::stdout());
        let lines: String = findings.iter().map(|finding| finding.lines(columns)).collect();
        print(&lines)?;
        write_to(arguments.json.as_deref(), |path| std::fs::write(path, json()))?;
    }
    Ok(if serves { 0 } else { STATUS_FAILED })
}
