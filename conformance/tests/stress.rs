//! The random mix and the storm of new objects, for a few seconds on each side. docs/stress.md has
//! the commands for longer runs.

use furwock_conformance::{Side, built};
use std::process::Command;

const SECONDS: &str = "8";

/// furwock has two faces, glibc one.
const SECONDS_OF_FRESH: [(Side, &str); 2] = [(Side::Furwock, "24"), (Side::Glibc, "6")];

fn check(side: Side, more: &[&str]) {
    let mut stress = Command::new(built("furwock-conformance", "furwock-stress"));
    let run = stress.args(["--side", side.name()]).args(more).output().unwrap();
    let (says, fails) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{}: {says}{fails}", run.status);
    assert!(says.contains("passed: "), "{says}");
}

#[test]
fn no_thread_is_forgotten_on_glibc() {
    check(Side::Glibc, &["--seconds", SECONDS]);
}

#[test]
fn no_thread_is_forgotten_on_furwock() {
    check(Side::Furwock, &["--seconds", SECONDS]);
}

#[test]
fn new_objects_begin_well() {
    for (side, seconds) in SECONDS_OF_FRESH {
        check(side, &["--seconds", seconds, "--storm", "fresh"]);
    }
}
