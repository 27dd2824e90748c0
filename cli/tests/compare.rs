//! `furwock compare`: a program or the built-in workloads on both sides.

mod common;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use common::{Scratch, Text, furwock_with, json, succeed};

#[test]
fn compares_a_program() {
    let scratch = Scratch::new("compares_a_program");
    let file = scratch.path("out.json");
    let file_name = file.to_str().unwrap();
    let run = scratch.furwock(&["compare", "-n", "6", "--json", file_name, "sleep", "0.01"]);
    let run = succeed(run);
    for words in ["wall time", "voluntary switches", "peak RSS", "furwock/glibc", "glibc"] {
        assert!(run.out().contains(words), "{}", run.out());
    }
    let last = run.out();
    assert!(["no difference", "furwock is"].iter().any(|words| last.contains(words)), "{last}");

    let document = json(&file);
    let pairs = document["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 6);
    for (index, pair) in pairs.iter().enumerate() {
        let first = ["glibc", "furwock"][index % 2];
        assert_eq!(pair["order"][0], first);
        for side in ["glibc", "furwock"] {
            let wall_s = pair[side]["wall_s"].as_f64().unwrap();
            assert!((0.01..5.0).contains(&wall_s), "{wall_s}");
            assert!(pair[side]["voluntary_switches"].as_f64().unwrap() >= 1.0);
            assert!(pair[side]["peak_rss_kib"].as_f64().unwrap() > 0.0);
        }
    }
    for key in ["cpu", "cpus", "kernel", "glibc", "date"] {
        assert!(!document["machine"][key].is_null(), "{key}");
    }
    assert_eq!(document["command"][0], "sleep");
    assert_eq!(document["summary"]["figures"].as_array().unwrap().len(), 5);
}

#[test]
fn only_furwocks_side_has_the_library() {
    let scratch = Scratch::new("only_furwocks_side_has_the_library");
    let log = scratch.path("log");
    let script = format!("echo \"[$LD_PRELOAD]\" >> {}", log.display());
    let stub = scratch.stub();
    // Not even an inherited LD_PRELOAD brings it to glibc's side.
    let mut command =
        scratch.furwock(&["compare", "-n", "1", "--warmup", "0", "sh", "-c", &script]);
    // A noisy pair may be repeated once; both orders are the first pair's then.
    assert!(command.env("LD_PRELOAD", &stub).output().unwrap().status.success());
    let log = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() >= 2 && lines.len().is_multiple_of(2), "{log}");
    let furwock = format!("[{0}:{0}]", stub.display());
    lines.chunks(2).for_each(|pair| assert_eq!(pair, ["[]", furwock.as_str()]));
}

#[test]
fn json_on_standard_output_has_it_to_itself() {
    let scratch = Scratch::new("json_on_standard_output_has_it_to_itself");
    let run = scratch.furwock(&["compare", "-n", "1", "--json", "-", "echo", "noise"]);
    let run = { run }.output().unwrap();
    let document: Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!(document["pairs"].as_array().unwrap().len(), 1);
    assert!(run.err().contains("wall time") && run.err().contains("no verdict"), "{}", run.err());
}

#[test]
fn output_is_shown_only_on_request() {
    let scratch = Scratch::new("output_is_shown_only_on_request");
    let printed = |option: &[&str]| {
        let arguments = [&["compare", "-n", "1"], option, &["echo", "a-word"]].concat();
        scratch.furwock(&arguments).output().unwrap().out().contains("a-word")
    };
    assert!(printed(&["--show-output"]));
    assert!(!printed(&[]));
}

#[test]
fn a_failing_side_is_named_with_its_standard_error() {
    let scratch = Scratch::new("a_failing_side_is_named_with_its_standard_error");
    let script = "test -z \"$LD_PRELOAD\" || { echo boom >&2; exit 3; }";
    let run = scratch.furwock(&["compare", "sh", "-c", script]).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    let error = run.err();
    assert!(error.contains("sh on furwock: exit status 3"), "{error}");
    assert!(error.contains("boom"), "{error}");

    let run = scratch.furwock(&["compare", "sh", "-c", "kill -ABRT $$"]).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(run.err().contains("on glibc: killed by signal 6"), "{}", run.err());
}

#[test]
fn a_hang_is_a_result_and_leaves_no_process_behind() {
    let scratch = Scratch::new("a_hang_is_a_result_and_leaves_no_process_behind");
    let id = scratch.path("id");
    let script =
        format!("test -z \"$LD_PRELOAD\" || {{ sleep 600 & echo $! > {}; wait; }}", id.display());
    let start = Instant::now();
    let run = scratch.furwock(&["compare", "--timeout", "0.5", "sh", "-c", &script]);
    let run = { run }.output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(run.err().contains("on furwock: hung"), "{}", run.err());
    assert!(start.elapsed() < Duration::from_secs(60));
    let id = fs::read_to_string(id).unwrap();
    let gone = |id: &str| {
        let status = fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        status.map_or(true, |status| status.contains(") Z "))
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while !gone(&id) {
        assert!(Instant::now() < deadline, "the hung program's child still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interrupt_prints_what_there_is() {
    let scratch = Scratch::new("an_interrupt_prints_what_there_is");
    let log = scratch.path("log");
    // Quick runs at first, then one that takes for ever. Before it came the warm-up and seven
    // pairs, of which noise can have dropped no more than five.
    let script = format!(
        "echo run >> {0}; test $(wc -l < {0}) -lt 16 || {{ touch {0}.stuck; sleep 600; }}",
        log.display()
    );
    let mut command = scratch.furwock(&["compare", "-n", "10", "sh", "-c", &script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !scratch.path("log.stuck").exists() {
        assert!(Instant::now() < deadline, "the runs should have come to the stuck one");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let run = child.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(130), "{}", run.err());
    assert!(run.out().contains("wall time"), "{}", run.out());
    assert!(!run.err().contains("hung"), "{}", run.err());
}

#[test]
fn the_checks_of_run_apply() {
    let scratch = Scratch::new("the_checks_of_run_apply");
    let status = |arguments: &[&str]| scratch.furwock(arguments).output().unwrap().status.code();
    assert_eq!(status(&["compare", "furwock-no-such-program"]), Some(127));
    assert_eq!(status(&["compare", "/tmp"]), Some(126));
    assert_eq!(status(&["compare", "--nonsense"]), Some(2));
    assert_eq!(status(&["compare", "--workload", "no-such-workload"]), Some(2));
    assert_eq!(status(&["compare", "-n", "0", "true"]), Some(2));
    if scratch.compile("int main(void) { return 0; }", "static", &["-static"]) {
        let program = scratch.path("static");
        let program = program.to_str().unwrap();
        assert_eq!(status(&["compare", "-n", "1", program]), Some(125));
        assert_eq!(status(&["compare", "-n", "1", "--force", program]), Some(0));
    } else {
        eprintln!("SKIPPED: cc cannot link with -static here");
    }
}

#[test]
fn lists_its_workloads() {
    let scratch = Scratch::new("lists_its_workloads");
    let list = scratch.furwock(&["compare", "--list"]).output().unwrap().out();
    for workload in ["cond", "pp", "mutex", "queue"] {
        assert!(list.lines().any(|line| line.starts_with(workload)), "{list}");
    }
}

#[test]
fn compares_a_builtin_workload() {
    let scratch = Scratch::new("compares_a_builtin_workload");
    let file = scratch.path("out.json");
    let cell = "mutex 1/1 x 2";
    let arguments =
        ["compare", "-n", "1", "--quick", "--workload", cell, "--json", file.to_str().unwrap()];
    let run = succeed(scratch.furwock(&arguments));
    let row = run.out().lines().find(|line| line.starts_with(cell)).unwrap().to_owned();
    assert!(row.contains(" ok ") && row.contains("too few pairs"), "{row}");
    // The stub replaces nothing, which causes a warning.
    assert!(run.out().contains("Warning: furwock-preload's locks came from"), "{}", run.out());

    let document = json(&file);
    let cases = document["benchmarks"][0]["cases"].as_array().unwrap();
    assert_eq!((document["benchmarks"].as_array().unwrap().len(), cases.len()), (1, 1));
    let sides = cases[0]["results"].as_array().unwrap();
    assert!(sides.iter().map(|side| &side["impl"]).eq(["glibc", "furwock-preload"]));
    for side in sides {
        let report = &side["rounds"][0]["report"];
        assert_eq!(report["ok"], true);
        assert!(report["figures"]["ops_per_second"].as_f64().unwrap() > 1000.0);
    }
    assert_eq!(cases[0]["parameters"]["threads"], 2.0);
    let answer = document["answer"].as_array().unwrap();
    assert_eq!((answer.len(), &answer[0]["measured"]["verdict"]), (1, &"too_few_pairs".into()));
}

#[test]
fn locks_that_do_not_exclude_fail_the_workloads_check() {
    let scratch = Scratch::new("locks_that_do_not_exclude_fail_the_workloads_check");
    let cell = "mutex 10/10 x 2";
    let arguments = ["compare", "-n", "2", "--quick", "--workload", cell];
    let run = furwock_with(&scratch.broken(), &arguments).output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", run.out());
    let out = run.out();
    assert!(out.contains("FAILED: mutex 10/10 x 2 with furwock-preload"), "{out}");
    assert!(out.contains("did not exclude"), "{out}");
}
