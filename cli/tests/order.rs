//! `furwock run --lock-order`: orders of locks that could deadlock are found though they didn't,
//! and healthy programs raise no alarm.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use common::{FURWOCK, Scratch, Text};
use serde_json::Value;

const PLANTED: &str = include_str!("order/planted.c");
const HEALTHY: &str = include_str!("order/healthy.cc");
const FOUND: i32 = 3;

/// The programs, compiled once.
fn programs() -> &'static Scratch {
    static PROGRAMS: OnceLock<Scratch> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let scratch = Scratch::new("order");
        assert!(scratch.compile(PLANTED, "planted", &["-g", "-O1", "-pthread"]));
        fs::write(scratch.path("healthy.cc"), HEALTHY).unwrap();
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-g", "-O1", "-pthread", "-o"]);
        compiler.arg(scratch.path("healthy")).arg(scratch.path("healthy.cc"));
        assert!(compiler.status().unwrap().success(), "a C++ compiler has to be there");
        scratch
    })
}

/// Runs one of them under `furwock run --lock-order`, with these options.
fn run(program: &str, which: &str, options: &[&str]) -> Output {
    let library = Path::new(FURWOCK).with_file_name("libfurwock_preload_recording.so");
    assert!(library.exists(), "`cargo build --release` makes {}", library.display());
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60", FURWOCK, "run"]).args(options).arg("--");
    command.arg(programs().path(program)).arg(which);
    command.env_remove("FURWOCK_PRELOAD").output().unwrap()
}

/// A planted one is found, and its report contains these words.
#[track_caller]
fn found(which: &str, words: &[&str]) {
    let output = run("planted", which, &["--lock-order", "--fail"]);
    let report = output.err();
    assert_eq!(output.status.code(), Some(FOUND), "{report}");
    assert_eq!(output.out(), "done\n");
    assert!(report.contains("1 possible deadlock;"), "{report}");
    for word in words {
        assert!(report.contains(word), "{word} in {report}");
    }
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
}

#[test]
fn two_mutexes() {
    let both = ["mutex accounts", "mutex journal", "transfer  planted.c", "audit  planted.c"];
    found("two", &both);
}

#[test]
fn five_mutexes() {
    found("five", &["5 threads take 5 locks", "mutex ring", "dine  planted.c"]);
}

#[test]
fn rwlocks_that_are_read_and_written() {
    found("rwlock", &["rwlock table", "rwlock index_lock", "read_then_write", "write_behind_read"]);
}

#[test]
fn a_reader_that_reads_again_behind_a_writer() {
    found("readers", &["rwlock eager", "a lock that it holds", "read_twice"]);
}

#[test]
fn a_condvar_that_is_waited_for_with_a_lock() {
    found("condvar", &["condvar ready", "mutex accounts", "wait_ready", "make_ready"]);
}

#[test]
fn a_semaphore_that_is_waited_for_with_a_lock() {
    found("semaphore", &["semaphore posted", "await_post", "post  planted.c"]);
}

#[test]
fn a_thread_that_is_joined_with_a_lock() {
    found("join", &["joins another", "touch  planted.c", "main  planted.c"]);
}

#[test]
fn a_thread_that_waits_for_itself_is_reported_when_it_was_killed() {
    let output = run("planted", "itself", &["--lock-order", "--fail"]);
    assert!(output.err().contains("a lock that it holds"), "{}", output.err());
    assert!(output.err().contains("lock_twice  planted.c"), "{}", output.err());
}

/// No two threads take the same locks, but locks of the same makes.
#[test]
fn locks_that_were_made_at_two_places() {
    let hint = run("planted", "makes", &["--lock-order", "--fail"]);
    assert_eq!(hint.status.code(), Some(0), "{}", hint.err());
    let says = hint.err();
    assert!(says.contains("no possible deadlock;"), "{says}");
    assert!(says.contains("HINT: locks of 2 makes are taken in different orders"), "{says}");
    let counts = run("planted", "makes", &["--lock-order", "--by-place", "--fail"]);
    assert_eq!(counts.status.code(), Some(FOUND), "{}", counts.err());
    let says = counts.err();
    assert!(says.lines().all(|line| line.chars().count() <= 80), "{says}");
    let plain = says.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "1 possible deadlock;",
        "POSSIBLE DEADLOCK: locks of 2 makes",
        "mutex made in account_new (planted.c:",
        "mutex made in entry_new (planted.c:",
        "book planted.c",
        "settle planted.c",
    ] {
        assert!(plain.contains(words), "{words} in {says}");
    }
}

#[test]
fn without_fail_the_status_is_the_programs() {
    let output = run("planted", "two", &["--lock-order"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.err().contains("POSSIBLE DEADLOCK"));
}

#[test]
fn suppressions_leave_out_what_is_known() {
    let file = programs().path("known.txt");
    fs::write(&file, "[the audit is alone at night]\nfunction = audit\nlock = journal\n").unwrap();
    let option = format!("--suppressions={}", file.display());
    let output = run("planted", "two", &["--lock-order", "--fail", &option]);
    assert_eq!(output.status.code(), Some(0), "{}", output.err());
    assert!(output.err().contains("Suppressed by [the audit is alone at night]: 1"));
    fs::write(&file, "[known]\nstack = audit\n").unwrap();
    let output = run("planted", "two", &["--lock-order", &option]);
    assert_eq!(output.status.code(), Some(125));
    assert!(output.err().contains("line 2"), "{}", output.err());
}

#[test]
fn a_file_is_read_by_report() {
    let file = programs().path("two.record");
    let option = format!("--lock-order={}", file.display());
    assert_eq!(run("planted", "two", &[&option]).status.code(), Some(0));
    let report = |options: &[&str]| {
        Command::new(FURWOCK).arg("report").args(options).arg(&file).output().unwrap()
    };
    let plain = report(&["--lock-order"]);
    assert_eq!(plain.status.code(), Some(FOUND), "{}", plain.err());
    assert!(plain.out().contains("POSSIBLE DEADLOCK"), "{}", plain.out());
    let json = report(&["--lock-order", "--json"]);
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    let finding = &document["processes"][0]["findings"][0];
    assert_eq!(finding["kind"], "inversion");
    assert_eq!(finding["steps"].as_array().unwrap().len(), 2);
    let functions = finding["steps"][0]["taken_stack"].to_string();
    assert!(functions.contains("transfer") || functions.contains("audit"), "{functions}");
}

#[test]
fn healthy_programs_raise_no_alarm() {
    let names = [
        "gate",
        "try",
        "address",
        "hand",
        "recursive",
        "readers",
        "scoped",
        "condvar",
        "permit",
        "alone",
        "given",
        "made-address",
        "made-hand",
        "made-tree",
        "made-gate",
        "made-try",
        "made-readers",
    ];
    for which in names {
        for options in [&["--lock-order", "--fail"][..], &["--lock-order", "--by-place", "--fail"]]
        {
            let output = run("healthy", which, options);
            assert_eq!(output.status.code(), Some(0), "{which}: {}", output.err());
            assert_eq!(output.out(), "done\n", "{which}");
            let says = output.err();
            assert!(says.contains("no possible deadlock"), "{which}: {says}");
            assert!(!says.contains("makes"), "{which}: {says}");
        }
    }
}
