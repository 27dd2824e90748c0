//! The built-in workloads, each in a process of its own on glibc's locks.

mod common;

use std::process::{Command, Output};

use serde_json::Value;

use common::{FURWOCK, Text};

fn workload(arguments: &[&str]) -> Output {
    Command::new(FURWOCK).arg("workload").args(arguments).output().unwrap()
}

fn figures(arguments: &[&str], expected: &[&str]) -> Value {
    let run = workload(arguments);
    assert_eq!(run.status.code(), Some(0), "{} {}", run.out(), run.err());
    assert_eq!(run.out().lines().count(), 1);
    let report: Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!((&report["ok"], &report["reason"]), (&Value::Bool(true), &Value::Null));
    for name in expected {
        assert!(report["figures"][name].is_f64(), "{name} in {report}");
    }
    report["figures"].clone()
}

#[test]
fn cond_perf_wakes_everybody() {
    let names = ["seconds_per_round", "voluntary_per_op"];
    for threads in ["threads=1", "threads=20"] {
        let figures = figures(&["cond-perf", threads, "rounds=10"], &names);
        assert!(figures["seconds_per_round"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn pp_plays_every_turn() {
    let figures = figures(&["pp", "games=5", "iterations=20", "stack=1"], &["seconds"]);
    assert!(figures["turns_per_second"].as_f64().unwrap() > 0.0);
}

#[test]
fn mutex_measures_rate_fairness_and_waits() {
    let names = [
        "ops_per_second",
        "cpu_ns_per_op",
        "voluntary_per_1000",
        "involuntary_per_1000",
        "min_over_mean",
        "wait_p50_s",
        "wait_p99_s",
        "wait_p999_s",
    ];
    let arguments = ["mutex", "cs=1", "ncs=0.5", "threads=3", "seconds=0.1"];
    let figures = figures(&arguments, &names);
    let figure = |name: &str| figures[name].as_f64().unwrap();
    // A critical section of 1 us bounds the rate from above, with room for calibration.
    assert!((1.0..2.0e6).contains(&figure("ops_per_second")));
    assert!((1.0 / 3.0..=1.0001).contains(&figure("jain")));
    assert!(figure("wait_p50_s") <= figure("wait_p99_s"));
    assert!(figure("wait_p999_s") <= figure("wait_max_s"));
}

#[test]
fn mutex_with_empty_sections_and_sampling() {
    let arguments = ["mutex", "threads=2", "seconds=0.05", "sample=64"];
    figures(&arguments, &["ops_per_second", "wait_max_s"]);
}

#[test]
fn queue_delivers_each_item_once() {
    let arguments = ["queue", "producers=3", "consumers=2", "items=1000", "capacity=4"];
    figures(&arguments, &["items_per_second", "voluntary_per_op"]);
    figures(&["queue", "producers=1", "consumers=5", "items=2", "capacity=1"], &[]);
}

#[test]
fn a_hang_is_reported_with_how_far_it_got() {
    let run = workload(&["cond-perf", "threads=2", "rounds=1000000000", "watchdog=0.3"]);
    assert_eq!(run.status.code(), Some(3));
    let report: Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!((&report["ok"], &report["reason"]), (&Value::Bool(false), &"hang".into()));
    assert!(report["figures"]["rounds_done"].as_f64().unwrap() > 0.0);
}

#[test]
fn bad_parameters_are_refused() {
    let bad = [&["no-such"][..], &["pp", "games"], &["pp", "gmes=1"], &["queue", "items=0"]];
    for arguments in bad {
        let run = workload(arguments);
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        assert!(run.err().starts_with("furwock: workload "), "{}", run.err());
    }
}
