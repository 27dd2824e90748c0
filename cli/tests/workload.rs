//! The built-in workloads, each in a process of its own.

mod common;

use std::path::Path;
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
fn cond_wakes_every_thread() {
    let names = ["seconds_per_round", "voluntary_per_op"];
    for threads in ["threads=1", "threads=20"] {
        let figures = figures(&["cond", threads, "rounds=10"], &names);
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
fn every_mutex_and_rwlock_excludes() {
    for implementation in ["glibc", "furwock", "std", "parking_lot", "parking_lot-fair", "usync"] {
        let implementation = format!("impl={implementation}");
        let common = ["threads=3", "seconds=0.05", implementation.as_str()];
        figures(&[&["mutex", "cs=0.5", "pin=1"], &common[..]].concat(), &["ops_per_second"]);
        let names = ["read_wait_p999_s", "write_wait_p999_s", "write_wait_max_s", "jain"];
        let figures = figures(&[&["rwlock", "writes=20", "cs=0.5"], &common[..]].concat(), &names);
        let figure = |name: &str| figures[name].as_f64().unwrap();
        let sum = figure("reads_per_second") + figure("writes_per_second");
        assert!((sum / figure("ops_per_second") - 1.0).abs() < 1e-6);
    }
}

#[test]
fn every_queue_lock_excludes() {
    for implementation in ["mcs-park", "malthusian-park"] {
        let implementation = format!("impl={implementation}");
        // Without waiters, with waiters that spin, and with more than there are processors.
        for threads in ["threads=1", "threads=2", "threads=9"] {
            for sections in ["cs=0", "cs=0.5"] {
                let arguments = ["mutex", &implementation, threads, sections, "seconds=0.1"];
                figures(&arguments, &["ops_per_second", "jain"]);
            }
        }
    }
}

#[test]
fn locks_that_do_not_exclude_fail() {
    for workload in ["mutex", "rwlock"] {
        // On a busy machine the threads may not meet.
        let mut runs = (0..5).map(|_| workload_on_broken_locks(workload));
        let run = runs.find(|run| run.status.code() != Some(0)).expect("not noticed");
        assert_eq!(run.status.code(), Some(1), "{}", run.out());
        assert!(run.out().contains("did not exclude"), "{}", run.out());
    }
}

fn workload_on_broken_locks(name: &str) -> Output {
    workload(&[name, "impl=broken", "threads=2", "cs=5", "seconds=0.1"])
}

#[test]
fn rwlock_of_readers_only_has_no_figures_of_writes() {
    let figures = figures(&["rwlock", "writes=0", "seconds=0.05"], &["read_wait_max_s"]);
    assert!(figures.get("write_wait_max_s").is_none(), "{figures}");
}

#[test]
fn pair_measures_beside_the_floor() {
    let arguments = ["pair", "slices=5", "pairs=1000", "impl=glibc,furwock"];
    let figures = figures(&arguments, &["floor_ns", "mutex_furwock_ns", "write_glibc_ns"]);
    assert_eq!(figures.as_object().unwrap().len(), 7);
}

#[test]
fn queue_delivers_each_item_once() {
    let arguments = ["queue", "producers=3", "consumers=2", "items=1000", "capacity=4"];
    figures(&arguments, &["items_per_second", "voluntary_per_op"]);
    figures(&["queue", "producers=1", "consumers=5", "items=2", "capacity=1"], &[]);
}

#[test]
fn a_hang_is_reported_with_how_far_it_got() {
    let run = workload(&["cond", "threads=2", "rounds=1000000000", "watchdog=0.3"]);
    assert_eq!(run.status.code(), Some(3));
    let report: Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!((&report["ok"], &report["reason"]), (&Value::Bool(false), &"hang".into()));
    assert!(report["figures"]["rounds_done"].as_f64().unwrap() > 0.0);
}

/// A signal that isn't sent is found, and one more gets the threads going again.
#[test]
fn a_lost_wakeup_is_found() {
    let library = Path::new(FURWOCK).with_file_name("libfurwock_preload.so");
    assert!(library.is_file(), "{}: cargo build --release makes it", library.display());
    for (plant, lost) in [("plant=1", 1.0), ("plant=0", 0.0)] {
        let arguments = ["workload", "lost-wakeup", "seconds=4", "losses=1", plant];
        let run = Command::new(FURWOCK).args(arguments).env("LD_PRELOAD", &library).output();
        let run = run.unwrap();
        assert_eq!(run.status.code(), Some(0), "{} {}", run.out(), run.err());
        let report: Value = serde_json::from_str(&run.out()).unwrap();
        let figure = |name: &str| report["figures"][name].as_f64().unwrap();
        assert_eq!((figure("lost"), figure("mended")), (lost, lost), "{report}");
        assert!(figure("signals") > 100.0, "{report}");
    }
}

#[test]
fn bad_parameters_are_refused() {
    let bad = [
        &["no-such"][..],
        &["pp", "games"],
        &["pp", "gmes=1"],
        &["queue", "items=0"],
        &["mutex", "impl=no-such"],
        &["rwlock", "writes=101"],
    ];
    for arguments in bad {
        let run = workload(arguments);
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        assert!(run.err().starts_with("furwock: workload "), "{}", run.err());
    }
}
