//! `furwock-stress [--side furwock|glibc] [--seconds N] [--seed S] [--storm fork|signal|cancel|all]`:
//! compiles `stress/*.c` and runs them, under the preload unless told otherwise.

use furwock_conformance::{Artifact, Side, scratch};
use std::env;
use std::process::ExitCode;

/// `stress/stress.c` has these beside it.
const SUBJECTS: [&str; 8] =
    ["actors", "barriers", "cancels", "forks", "locks", "rwlocks", "semaphores", "signals"];

const STORMS: [&str; 4] = ["fork", "signal", "cancel", "all"];

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
    match side.command(&program).args(arguments).status() {
        Ok(status) => ExitCode::from(status.code().map_or(1, |code| code as u8)),
        Err(error) => {
            eprintln!("furwock-stress: {}: {error}", program.display());
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
