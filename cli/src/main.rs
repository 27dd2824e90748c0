//! The `furwock` command: run a program on furwock, compare it with glibc, measure locks.
//!
//! Rust's own start-up is left out of the command (`no_main`). It would ignore SIGPIPE and open
//! closed standard streams, and the program that `furwock run` becomes would inherit both.

#![cfg_attr(not(test), no_main)]

mod affinity;
mod args;
mod bench;
mod brought;
mod compare;
mod contention;
mod contestants;
mod doctor;
mod elf;
mod examples;
mod failure;
mod harness;
mod lines;
mod measuring;
mod notes;
mod obstacle;
mod order;
mod pages;
mod preload;
mod program;
mod recap;
mod record;
mod report;
mod run;
mod signals;
mod statistics;
mod stats;
mod streams;
mod symbols;
mod top;
mod values;
mod who;
mod workloads;

use args::{Arguments, Command};
use failure::{Failure, STATUS_OWN_FAILURE};

/// The C entry point: libc has kept the arguments, `std::env` finds them.
#[cfg(not(test))]
#[unsafe(no_mangle)]
extern "C" fn main(_count: libc::c_int, _values: *const *const libc::c_char) -> libc::c_int {
    // `process::exit`, since a plain return would not flush Rust's standard output.
    std::process::exit(furwock())
}

#[cfg(test)]
fn main() {
    std::process::exit(furwock())
}

fn furwock() -> i32 {
    let arguments = match Arguments::parsed() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let done = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Who(arguments) => who::who(&arguments),
        Command::Top(arguments) => top::top(&arguments),
        Command::Report(arguments) => recap::report(&arguments),
        Command::Stats(arguments) => stats::stats(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Pages(arguments) => pages::pages(&arguments),
        Command::Workload(arguments) => Ok(workloads::workload(&arguments)),
    };
    done.unwrap_or_else(|failure: Failure| {
        streams::say(&format!("furwock: {failure}\n"));
        failure.status
    })
}

/// Prints help or a usage error. `run` reports a usage error as its own failure, so that it is not
/// taken for the program's status.
fn usage(error: &clap::Error) -> i32 {
    // A closed standard stream has no reader.
    let _ = error.print();
    let of_bench = std::env::args_os().nth(1).is_some_and(|word| word == "bench");
    if of_bench && error.kind() == clap::error::ErrorKind::InvalidSubcommand {
        streams::say(&format!("furwock bench has {}\n", args::benchmarks().join(", ")));
    }
    let of_run = std::env::args_os().nth(1).is_some_and(|word| word == "run");
    if error.use_stderr() && of_run { STATUS_OWN_FAILURE } else { error.exit_code() }
}
