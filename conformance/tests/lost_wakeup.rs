//! Some seconds of the search for lost wakeups, on each side. glibc before 2.41 may lose one or not: what
//! it does is printed only. By hand, and for longer: `sh scripts/lost-wakeup.sh`.

use furwock_conformance::{Artifact, Side, scratch};
use std::process::Output;

const SECONDS: &str = "5";

fn search(side: Side) -> Output {
    let folder = scratch(&format!("{}-lost_wakeup", side.name()));
    let program = Artifact::program("lost_wakeup/lost_wakeup.c", &folder, "lost_wakeup").build();
    let run = side.command(&program).args(["--seconds", SECONDS]).output();
    let run = run.expect("the program can be started");
    let says = String::from_utf8_lossy(&run.stdout);
    println!("{}: {}{says}", side.name(), String::from_utf8_lossy(&run.stderr));
    run
}

#[test]
fn furwock_loses_none() {
    let run = search(Side::Furwock);
    let says = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{}: {says}", run.status);
}

#[test]
fn glibc_is_as_it_is() {
    let lost = 3;
    let status = search(Side::Glibc).status;
    assert!(matches!(status.code(), Some(code) if code == 0 || code == lost), "{status}");
}
