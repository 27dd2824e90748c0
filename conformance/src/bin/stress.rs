//! `furwock-stress [--side furwock|glibc] [--seconds N] [--seed S]`: compiles `stress/stress.c` and
//! runs it, under the preload unless told otherwise.

use furwock_conformance::{Artifact, Side, scratch};
use std::env;
use std::process::ExitCode;

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
            _ => return usage(),
        }
    }
    let folder = scratch(&format!("{}-stress", side.name()));
    let program = Artifact::program("stress/stress.c", &folder, "stress").build();
    match side.command(&program).args(arguments).status() {
        Ok(status) => ExitCode::from(status.code().map_or(1, |code| code as u8)),
        Err(error) => {
            eprintln!("furwock-stress: {}: {error}", program.display());
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: furwock-stress [--side furwock|glibc] [--seconds N] [--seed S]");
    ExitCode::from(2)
}
