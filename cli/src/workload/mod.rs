//! `furwock workload`: one built-in workload in this process. Most are written against the plain
//! pthread interface, on whichever library the process was started with, so that a preload finds
//! here what it finds in any program. Those that measure locks alone take other implementations too.

mod barrier;
mod barriers;
mod beds;
mod cond_perf;
mod contest;
mod crowd;
pub mod die;
mod events;
mod footprint;
mod gate;
mod hash;
mod histogram;
pub mod implementation;
mod lock_pi;
mod locks;
mod mutex;
mod padded;
pub mod pair;
mod parameters;
mod pingpong;
mod pinning;
mod pp;
mod pthread;
mod queue;
pub mod report;
mod requeue;
mod rwlock;
mod sem;
mod semaphores;
mod table;
mod turns;
pub mod usage;
mod waitset;
mod wake;
mod wake_parallel;
mod watchdog;
mod words;
pub mod work;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::args::WorkloadArguments;
use crate::failure::{STATUS_FAILED, STATUS_USAGE};
use parameters::{BadParameter, Parameters};
use report::{Figures, Report};

type Workload = fn(Parameters) -> Result<Result<Figures, String>, BadParameter>;

const WORKLOADS: [(&str, Workload); 18] = [
    ("cond-perf", cond_perf::run),
    ("pp", pp::run),
    ("mutex", mutex::run),
    ("rwlock", rwlock::run),
    ("pair", pair::run),
    ("queue", queue::run),
    ("hash", hash::run),
    ("wake", wake::run),
    ("wake-parallel", wake_parallel::run),
    ("requeue", requeue::run),
    ("lock-pi", lock_pi::run),
    ("sem", sem::run),
    ("barrier", barrier::run),
    ("pingpong", pingpong::run),
    ("waitset", waitset::run),
    ("waitv", waitset::run_waitv),
    ("table", table::run),
    ("footprint", footprint::run),
];

/// Runs the workload, prints its report as a line of JSON, and returns the exit status.
pub fn workload(arguments: &WorkloadArguments) -> i32 {
    // Who is to read the report may be killed; nobody else would end this before its time is up.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    match run(arguments) {
        Ok(report) => {
            report.print();
            if report.ok { 0 } else { STATUS_FAILED }
        }
        Err(error) => {
            anstream::eprintln!("furwock: workload {}: {error}", arguments.name);
            STATUS_USAGE
        }
    }
}

fn run(arguments: &WorkloadArguments) -> Result<Report, BadParameter> {
    let mut parameters = Parameters::parse(&arguments.parameters)?;
    let (_, workload) = WORKLOADS
        .iter()
        .find(|(name, _)| *name == arguments.name)
        .ok_or_else(|| BadParameter("no such workload".to_owned()))?;
    pinning::take(&mut parameters)?;
    let result = workload(parameters)?;
    Ok(if arguments.name == "rwlock" { Report::of_rwlocks(result) } else { Report::new(result) })
}
