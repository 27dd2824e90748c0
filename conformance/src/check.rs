//! Runs every test of a program that holds on one side.

use crate::{Ended, Side, Test, run, scratch};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

/// Runs the tests of `program`, and panics with all that failed.
pub fn check(name: &str, side: Side, program: PathBuf) {
    let mut failures = Vec::new();
    let mut held = 0;
    for test in Test::list(&program) {
        if !test.holds_on(side) {
            println!("{}: not on {}: {}", test.name, side.name(), test.reason);
            continue;
        }
        if let Some(what) = lacking(&test) {
            println!("{}: not here: {what}", test.name);
            continue;
        }
        held += 1;
        let ended = run_on(&program, &test, side);
        println!("{}: {ended}", test.name);
        if let Ended::Failed(why) = ended {
            if side == Side::Furwock
                && test.holds_on(Side::Glibc)
                && fails_on_this_glibc(&program, &test)
            {
                continue;
            }
            failures.push(format!("{}: {why}", test.name));
        }
    }
    assert!(held > 0, "{name} has no tests for {}", side.name());
    let of = format!("{} of {held} tests of {name} failed on {}", failures.len(), side.name());
    assert!(failures.is_empty(), "{of}:\n  {}", failures.join("\n  "));
}

/// How often a test may run on glibc before it counts as failed there. That side only shows that a
/// test asks no more than glibc gives, and glibc has races of its own: one storm of rwlocks in some
/// thousands hangs. On furwock the first failure counts.
const TRIES_ON_GLIBC: usize = 3;

fn run_on(program: &Path, test: &Test, side: Side) -> Ended {
    let tries = if side == Side::Glibc { TRIES_ON_GLIBC } else { 1 };
    for tried in 1..tries {
        match run(program, test, side) {
            Ended::Failed(why) => println!("{}: failed, try {tried} of {tries}: {why}", test.name),
            ended => return ended,
        }
    }
    run(program, test, side)
}

/// What this machine lacks for the test, if it is an emulated one: `CONFORMANCE_LACKS` names a file
/// with a test and the reason in a line.
fn lacking(test: &Test) -> Option<&'static str> {
    static LACKS: OnceLock<String> = OnceLock::new();
    let lacks = LACKS.get_or_init(|| match env::var_os("CONFORMANCE_LACKS") {
        Some(path) => fs::read_to_string(path).expect("CONFORMANCE_LACKS names a file"),
        None => String::new(),
    });
    let mut lines = lacks.lines().filter(|line| !line.starts_with('#'));
    lines.find_map(|line| line.strip_prefix(&test.name)?.strip_prefix(':').map(str::trim))
}

/// The tests hold on the glibc that they were written on. Others break some of them by themselves,
/// for objects that furwock leaves to glibc and for what it doesn't replace. With
/// `CONFORMANCE_OTHER_GLIBC=1` a test that fails on furwock is tried on glibc, and doesn't count if
/// it fails there, too. One that asks more than any glibc gives counts.
fn fails_on_this_glibc(program: &Path, test: &Test) -> bool {
    if env::var_os("CONFORMANCE_OTHER_GLIBC").is_none_or(|value| value != "1") {
        return false;
    }
    let Ended::Failed(why) = run(program, test, Side::Glibc) else { return false };
    println!("{}: this glibc's own fault: {why}", test.name);
    true
}

/// A folder for each program and side: tests run at the same time.
pub fn folder(name: &str, side: Side) -> PathBuf {
    scratch(&format!("{}-{name}", side.name()))
}
