//! Random programs of pthread calls, on glibc and on the preload.
//!
//! `RANDOM_SECONDS` says for how long on each side, `RANDOM_SEED` the first seed, `RANDOM_PROGRAMS`
//! how many; `RANDOM_PROGRAM` is the text of the only program to run. A failure prints its seed and
//! a smaller program.

use furwock_conformance::Side;
use furwock_conformance::program::Run;
use furwock_conformance::random::Fault;
use furwock_conformance::seeds::{number, seed};
use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SECONDS: u64 = 10;

/// A program that fails is reduced for a minute.
const REDUCING: Duration = Duration::from_secs(90);

fn command(side: Side) -> Command {
    side.command(Path::new(env!("CARGO_BIN_EXE_furwock-random")))
}

/// glibc has races of its own, so it may try so often; furwock fails at once.
const TRIES_ON_GLIBC: u64 = 3;

fn check(side: Side) {
    let seed = seed("RANDOM_SEED");
    let tries = if side == Side::Glibc { TRIES_ON_GLIBC } else { 1 };
    let failures: Vec<_> =
        (0..tries).map_while(|tried| fails(side, seed + (tried << 32))).collect();
    assert!(failures.len() < tries as usize, "{}", failures.join("\n"));
}

/// What a run says that fails.
fn fails(side: Side, seed: u64) -> Option<String> {
    let seconds = number("RANDOM_SECONDS").unwrap_or(SECONDS);
    println!("RANDOM_SEED={seed:#x}");
    let mut command = command(side);
    command.args(["--seed", &seed.to_string()]);
    match (env::var("RANDOM_PROGRAM"), number("RANDOM_PROGRAMS")) {
        (Ok(program), _) => command.args(["--program", &program]),
        (_, Some(programs)) => command.args(["--programs", &programs.to_string()]),
        _ => command.args(["--seconds", &seconds.to_string()]),
    };
    let run = Run::of(command, Duration::from_secs(seconds) + REDUCING);
    let failed = run.status != Some(0);
    failed.then(|| format!("{:?}\n{}", run.status, run.stderr))
}

#[test]
fn programs_hold_on_glibc() {
    check(Side::Glibc);
}

#[test]
fn programs_hold_on_furwock() {
    check(Side::Furwock);
}

#[test]
fn every_fault_is_found_and_made_small() {
    for fault in Fault::ALL {
        let mut command = command(Side::Glibc);
        command.args(["--programs", "3000", "--bound-ms", "400", "--wrong", &fault.name()]);
        let run = Run::of(command, REDUCING);
        assert_eq!(run.status, Some(1), "{fault:?} isn't found: {}", run.stderr);
        let mut programs =
            run.stderr.lines().filter_map(|line| line.strip_prefix("RANDOM_PROGRAM="));
        let smallest = programs.next_back().expect("a failure says its program");
        println!("{fault:?}: {smallest}");
        assert!(smallest.split(';').count() <= 15, "{fault:?} takes too long to tell: {smallest}");
    }
}
