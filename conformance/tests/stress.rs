//! The random mix, for a few seconds on each side. By hand, and for as long as one likes:
//! `cargo run --release -p furwock-conformance --bin furwock-stress -- --seconds 600 --storm all`.

use furwock_conformance::Side;
use std::process::Command;

const SECONDS: &str = "8";

fn check(side: Side) {
    let mut stress = Command::new(env!("CARGO_BIN_EXE_furwock-stress"));
    let run = stress.args(["--side", side.name(), "--seconds", SECONDS]).output().unwrap();
    let (says, fails) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{}: {says}{fails}", run.status);
    assert!(says.contains("passed: "), "{says}");
}

#[test]
fn nobody_is_forgotten_on_glibc() {
    check(Side::Glibc);
}

#[test]
fn nobody_is_forgotten_on_furwock() {
    check(Side::Furwock);
}
