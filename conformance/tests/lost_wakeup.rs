//! A few seconds of the search for lost wakeups, on each side. glibc before 2.41 may lose one or
//! not: its result is only printed. `sh scripts/lost-wakeup.sh 600` searches for longer.
//!
//! Another test checks that the program distinguishes a lost wakeup from other causes of a
//! standstill.

use furwock_conformance::{Artifact, Side, scratch};
use std::path::PathBuf;
use std::process::Output;
use std::thread;

const SECONDS: &str = "5";

/// What the program exits with.
const NONE_LOST: i32 = 0;
const LOST: i32 = 3;
const INCONCLUSIVE: i32 = 4;

fn program(side: Side, test: &str) -> PathBuf {
    let folder = scratch(&format!("{}-lost_wakeup-{test}", side.name()));
    Artifact::program("lost_wakeup/lost_wakeup.c", &folder, "lost_wakeup").build()
}

fn search(side: Side, test: &str, options: &[&str]) -> Output {
    let mut command = side.command(&program(side, test));
    let run = command.args(options).output().expect("the program can be started");
    let says = String::from_utf8_lossy(&run.stdout);
    println!("{}: {}{says}", side.name(), String::from_utf8_lossy(&run.stderr));
    run
}

#[test]
fn furwock_loses_none() {
    let run = search(Side::Furwock, "search", &["--seconds", SECONDS]);
    let says = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(NONE_LOST), "{says}");
}

#[test]
fn glibc_is_as_it_is() {
    let status = search(Side::Glibc, "search", &["--seconds", SECONDS]).status;
    let known = [NONE_LOST, LOST, INCONCLUSIVE].map(Some);
    assert!(known.contains(&status.code()), "{status}");
}

/// A wakeup is lost if there is work that a signalled waiter should have taken, and only then.
#[test]
fn what_is_planted_is_told_apart() {
    let plants = [
        ("lost", LOST, "lost wakeup after"),
        ("idle", INCONCLUSIVE, "items 0"),
        ("held", INCONCLUSIVE, "the mutex can't be had"),
        ("away", INCONCLUSIVE, "inconclusive after"),
        ("pause", NONE_LOST, "no lost wakeup in"),
    ];
    thread::scope(|scope| {
        for side in [Side::Glibc, Side::Furwock] {
            for (plant, status, words) in plants {
                scope.spawn(move || {
                    // Without the calls that may make glibc itself lose one.
                    let options = ["--every", "0", "--seconds", "2", "--patience", "3"];
                    let options = [&options[..], &["--plant", plant]].concat();
                    let run = search(side, plant, &options);
                    let says = String::from_utf8_lossy(&run.stdout);
                    assert_eq!(run.status.code(), Some(status), "{plant}: {says}");
                    assert!(says.contains(words), "{plant}: {says}");
                });
            }
        }
    });
}
