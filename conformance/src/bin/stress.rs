//! `furwock-stress [--side furwock|glibc] [--seconds N] [--seed S] [--storm fork|signal|cancel|all]`:
//! compiles `stress/*.c` and runs them, under the preload unless told otherwise, and under watch: what
//! hangs is judged from outside (`watchdog`).

use furwock_conformance::program::kill_group;
use furwock_conformance::watchdog::runner::hard_limit_s;
use furwock_conformance::watchdog::{HARD_LIMIT, watch};
use furwock_conformance::{Artifact, Side, scratch};
use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// `stress/stress.c` has these beside it.
const SUBJECTS: [&str; 8] =
    ["actors", "barriers", "cancels", "forks", "locks", "rwlocks", "semaphores", "signals"];

const STORMS: [&str; 4] = ["fork", "signal", "cancel", "all"];

/// `STUCK_S` of `stress/stress.h`.
const STUCK: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let mut side = Side::Furwock;
    let mut arguments = Vec::new();
    let mut given = env::args().skip(1);
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--side" => match given.next().as_deref() {
                Some("furwock") => side = Side::Furwock,
                Some("glibc") => side = Side::Glibc,
                _ => return usage(),
            },
            "--seconds" | "--seed" => match given.next().filter(|text| text.parse::<u64>().is_ok())
            {
                Some(number) => arguments.extend([argument, number]),
                None => return usage(),
            },
            "--storm" => match given.next().filter(|name| STORMS.contains(&name.as_str())) {
                Some(name) => arguments.extend([argument, name]),
                None => return usage(),
            },
            _ => return usage(),
        }
    }
    let folder = scratch(&format!("{}-stress", side.name()));
    let subjects = SUBJECTS.map(|subject| format!("stress/{subject}.c"));
    let subjects: Vec<_> = subjects.iter().map(String::as_str).collect();
    let program = Artifact::program("stress/stress.c", &folder, "stress").and(&subjects).build();
    let mut command = side.command(&program);
    command.args(arguments);
    run(command, STUCK)
}

/// Runs a program that asks when it is stuck, in a process group that doesn't outlive it.
fn run(mut command: Command, bound: Duration) -> ExitCode {
    command.process_group(0).stderr(Stdio::piped());
    command.env(HARD_LIMIT, hard_limit_s(bound).to_string());
    let die_with_us = || {
        // SAFETY: no memory is touched. A signal of the terminal's reaches this process only.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        Ok(())
    };
    // SAFETY: one system call.
    unsafe { command.pre_exec(die_with_us) };
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("furwock-stress: {}: {error}", command.get_program().display());
            return ExitCode::FAILURE;
        }
    };
    let watched = watch(&mut child, None, |line| eprint!("{line}"));
    kill_group(&child);
    let (status, report) = watched.heard();
    if let Some(report) = report {
        eprint!("{report}");
    }
    match status {
        Ok(Some(status)) => ExitCode::from(status.code().map_or(1, |code| code as u8)),
        Ok(None) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("furwock-stress: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: furwock-stress [--side furwock|glibc] [--seconds N] [--seed S] \
         [--storm fork|signal|cancel|all]"
    );
    ExitCode::from(2)
}
