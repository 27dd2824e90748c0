//! Runs every test of a program that holds on one side.

use crate::{Ended, Side, Test, run, scratch};
use std::path::PathBuf;

/// Runs the tests of `program`, and panics with all that failed.
pub fn check(name: &str, side: Side, program: PathBuf) {
    let mut failures = Vec::new();
    let mut held = 0;
    for test in Test::list(&program) {
        if !test.holds_on(side) {
            println!("{}: not on {}: {}", test.name, side.name(), test.reason);
            continue;
        }
        held += 1;
        let ended = run(&program, &test, side);
        println!("{}: {ended}", test.name);
        if let Ended::Failed(why) = ended {
            failures.push(format!("{}: {why}", test.name));
        }
    }
    assert!(held > 0, "{name} has no tests for {}", side.name());
    let of = format!("{} of {held} tests of {name} failed on {}", failures.len(), side.name());
    assert!(failures.is_empty(), "{of}:\n  {}", failures.join("\n  "));
}

/// A folder for each program and side: tests run at the same time.
pub fn folder(name: &str, side: Side) -> PathBuf {
    scratch(&format!("{}-{name}", side.name()))
}
