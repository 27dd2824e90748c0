//! The workloads: for each a file with its options, its cases and figures, its loop, and the check
//! of its own result. A new one is a file, its `mod` line and its line in `registry!`.

mod barrier;
pub mod cond;
mod footprint;
pub mod hash;
mod lock_pi;
pub mod lost_wakeup;
pub mod mutex;
pub mod pair;
mod pingpong;
pub mod pp;
pub mod queue;
mod requeue;
pub mod rwlock;
mod sem;
pub mod table;
pub mod waitset;
pub mod waitv;
pub mod wake;
mod wake_parallel;

use clap::{Args, Subcommand};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::bench::benchmark::{Benchmark, Case};
use crate::bench::common::Common;
use crate::failure::{STATUS_FAILED, STATUS_USAGE};
use crate::harness::{Failed, Figures, Parameters, Report};
use crate::harness::{pinning, watchdog};

/// Run one built-in workload in this process, and print a line of JSON
#[derive(Args)]
pub struct WorkloadArguments {
    name: String,

    /// Its parameters
    #[arg(value_name = "KEY=VALUE")]
    parameters: Vec<String>,
}

/// The loop of a workload, in a process of its own.
type Loop = fn(Parameters) -> Result<Figures, Failed>;

/// The options of one workload, and the benchmark that they ask for.
pub trait Workload: Args {
    fn benchmark(&self) -> Benchmark;
}

#[derive(Args)]
pub struct Single<W: Args> {
    #[command(flatten)]
    workload: W,

    #[command(flatten)]
    common: Common,
}

macro_rules! registry {
    ($($variant:ident($module:ident) $name:literal)*; $($other:literal $loop:path),* $(,)?) => {
        #[derive(Subcommand)]
        pub enum Workloads {
            $(#[command(name = $name)] $variant(Single<$module::Arguments>),)*
        }

        impl Workloads {
            pub fn benchmark(&self) -> Benchmark {
                match self {
                    $(Workloads::$variant(of) => of.workload.benchmark(),)*
                }
            }

            pub fn common(&self) -> &Common {
                match self { $(Workloads::$variant(of) => &of.common,)* }
            }

            #[cfg(test)]
            pub fn into_common(self) -> Common {
                match self { $(Workloads::$variant(of) => of.common,)* }
            }

            pub fn common_mut(&mut self) -> &mut Common {
                match self { $(Workloads::$variant(of) => &mut of.common,)* }
            }
        }

        const LOOPS: &[(&str, Loop)] =
            &[$(($name, $module::run),)* $(($other, $loop),)*];
    };
}

registry! {
    Mutex(mutex) "mutex"
    Rwlock(rwlock) "rwlock"
    Cond(cond) "cond"
    Pp(pp) "pp"
    Queue(queue) "queue"
    Sem(sem) "sem"
    Barrier(barrier) "barrier"
    Pingpong(pingpong) "pingpong"
    Waitset(waitset) "waitset"
    Waitv(waitv) "waitv"
    Hash(hash) "hash"
    Wake(wake) "wake"
    WakeParallel(wake_parallel) "wake-parallel"
    Requeue(requeue) "requeue"
    LockPi(lock_pi) "lock-pi";
    // These have no command of their own: `bench pair`, `scaling` and `memory` and `compare
    // --lost-wakeup` run them.
    "pair" pair::run, "table" table::run, "footprint" footprint::run,
    "lost-wakeup" lost_wakeup::run,
}

/// Runs the workload, prints its report as a line of JSON, and returns the exit status.
pub fn workload(arguments: &WorkloadArguments) -> i32 {
    // If the process that reads the report is killed, this one is to end too.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let result = match run(arguments) {
        Ok(figures) => Ok(figures),
        Err(Failed::Check(reason)) => Err(reason),
        Err(Failed::Parameter(reason)) => {
            anstream::eprintln!("furwock: workload {}: {reason}", arguments.name);
            return STATUS_USAGE;
        }
    };
    let report = match arguments.name.as_str() {
        "rwlock" => Report::of_rwlocks(result),
        _ => Report::new(result),
    };
    report.print();
    if report.ok { 0 } else { STATUS_FAILED }
}

fn run(arguments: &WorkloadArguments) -> Result<Figures, Failed> {
    let mut given = Parameters::parse(&arguments.parameters)?;
    let (_, run) = LOOPS
        .iter()
        .find(|(name, _)| *name == arguments.name)
        .ok_or_else(|| Failed::Parameter("no such workload".to_owned()))?;
    pinning::take(&mut given)?;
    watchdog::start(given.amount("watchdog", watchdog::DEFAULT_SECONDS)?);
    run(given)
}

/// A case for each pair of both lists.
fn grid<A: Copy, B: Copy>(outer: &[A], inner: &[B], case: impl Fn(A, B) -> Case) -> Vec<Case> {
    let mut cases = Vec::with_capacity(outer.len() * inner.len());
    outer.iter().for_each(|a| cases.extend(inner.iter().map(|b| case(*a, *b))));
    cases
}

/// A flag as a parameter: parameters are numbers.
fn number(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}
