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
        // The rarest takes some 5,000 programs, but few from this seed on.
        command.args([
            "--seed",
            "0xe0a00ec5bba0",
            "--programs",
            "60000",
            "--bound-ms",
            "400",
            "--wrong",
            &fault.name(),
        ]);
        let run = Run::of(command, 3 * REDUCING);
        assert_eq!(run.status, Some(1), "{fault:?} isn't found: {}", run.stderr);
        let mut programs =
            run.stderr.lines().filter_map(|line| line.strip_prefix("RANDOM_PROGRAM="));
        let smallest = programs.next_back().expect("a failure says its program");
        println!("{fault:?}: {smallest}");
        assert!(smallest.split(';').count() <= 15, "{fault:?} takes too long to tell: {smallest}");
    }
}

/// How often a program runs that was found: its threads may race.
const TIMES: &str = "60";

/// Programs that failed once, or that show how a specification was wrong.
const PINNED: [(&str, &str); 5] = [
    (
        "a cancellation that may not act ends no wait",
        "1 make c cond-monotonic-private; 3 cancel_disable; 2 make d mutex-adaptive-private; \
         3 lock d; 3 timedwait c d own far; 2 cancel 3",
    ),
    (
        "a thread that is cancelled swallows no permit (glibc's does: not run there)",
        "3 make b semaphore-0-private; 3 sem_timedwait b monotonic far; 4 sem_wait b; \
         2 cancel 3 &; 1 sem_post b",
    ),
    (
        "a waiter that a post woke in vain may miss a signal",
        "1 make d semaphore-0-private; 1 sem_timedwait d monotonic far; 3 sem_post d &; \
         4 sem_timedwait d own past &; 0 kill 1",
    ),
    (
        "a once whose routine is cancelled is called by the next thread",
        "1 make c once; 1 make b semaphore-0-private; 1 once_of_sem_wait c b; \
         2 once_of_sem_wait c b; 3 once c; 0 cancel 1; 0 cancel 2",
    ),
    (
        "a waiter that leaves at its deadline lets readers in behind it",
        "3 make a rwlock-writersnonrecursive-private; 2 rdlock a; 4 timedwrlock a own soon; \
         1 rdlock a; 0 pause; 0 tryrdlock a",
    ),
];

#[test]
fn pinned_programs_hold() {
    for side in [Side::Glibc, Side::Furwock] {
        for (about, program) in PINNED {
            let mut command = command(side);
            command.args(["--seed", "1", "--program", program, "--programs", TIMES]);
            let run = Run::of(command, REDUCING);
            assert_eq!(run.status, Some(0), "{about}, on {}: {}", side.name(), run.stderr);
        }
    }
}
