//! `furwock doctor`, and the machine file that it measures.

mod common;

use std::path::Path;
use std::process::Command;

use common::{FURWOCK, Scratch, Text, furwock_with, json, succeed};
use machine::atomic::{AtomicU32, Ordering};
use machine::{Machine, Simulation};

/// The library beside the command.
fn doctor(arguments: &[&str]) -> Command {
    let mut command = Command::new(FURWOCK);
    command.arg("doctor").args(arguments).env_remove("LD_PRELOAD").env_remove("FURWOCK_PRELOAD");
    command
}

fn library_is_built() -> bool {
    let library = Path::new(FURWOCK).with_file_name("libfurwock_preload.so");
    let is_there = library.exists();
    if !is_there {
        eprintln!("skipped: build the preload first");
    }
    is_there
}

#[test]
fn the_help_says_what_it_writes() {
    let help = doctor(&["--help"]).output().unwrap().out();
    for said in ["--json", "--costs", "--output", "at most 20 seconds", "Exit status"] {
        assert!(help.contains(said), "{said}: {help}");
    }
    assert!(!help.contains("--probe"), "{help}");
}

#[test]
fn findings_are_lines_that_fit_a_terminal() {
    if !library_is_built() {
        return;
    }
    let found = succeed(doctor(&[])).out();
    // The library's path may be longer than a line.
    let fits = |line: &str| line.chars().count() <= 80 || line.contains("libfurwock_preload.so");
    assert!(found.lines().all(fits), "{found}");
    let calls = ["futex_waitv", "FUTEX2_NUMA", "robust", "rseq", "rseq_slice", "membarrier"];
    for subject in ["kernel", "glibc", "processors", "seccomp"].into_iter().chain(calls) {
        let is_line = |line: &str| line.split_whitespace().nth(1) == Some(subject);
        assert!(found.lines().any(is_line), "{subject}: {found}");
    }
    let words = found.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("serves programs") && !words.contains("problem"), "{found}");
}

#[test]
fn an_environment_without_any_variable_is_enough() {
    if !library_is_built() {
        return;
    }
    let mut command = doctor(&[]);
    command.env_clear();
    let found = succeed(command).out();
    assert!(found.contains("ok       library"), "{found}");
}

#[test]
fn json_has_the_findings() {
    if !library_is_built() {
        return;
    }
    let scratch = Scratch::new("json_has_the_findings");
    let path = scratch.path("found.json");
    succeed(doctor(&["--json", path.to_str().unwrap()]));
    let printed: serde_json::Value =
        serde_json::from_str(&succeed(doctor(&["--json"])).out()).unwrap();
    for document in [json(&path), printed] {
        assert_eq!(document["serves"], true, "{document}");
        let findings = document["findings"].as_array().unwrap();
        assert!(findings.len() > 12);
        for finding in findings {
            let state = finding["state"].as_str().unwrap();
            assert!(["ok", "note"].contains(&state), "{finding}");
            assert_eq!(finding["mend"].is_null(), state == "ok", "{finding}");
        }
        assert!(document["machine"]["kernel"].is_string());
    }
}

/// A library that is missing, is no library, or replaces nothing.
#[test]
fn a_library_that_does_not_serve_is_a_problem() {
    let scratch = Scratch::new("a_library_that_does_not_serve_is_a_problem");
    std::fs::write(scratch.path("text.so"), "text").unwrap();
    let cases = [
        (scratch.path("missing.so"), "missing"),
        (scratch.path("text.so"), "no ELF file"),
        (scratch.stub(), "stay those of"),
    ];
    for (library, reason) in cases {
        let run = furwock_with(&library, &["doctor"]).output().unwrap();
        let words = run.out().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(run.status.code(), Some(1), "{words}");
        assert!(words.contains("problem library") && words.contains(reason), "{words}");
        assert!(words.contains("->"), "no remedy: {words}");
    }
}

#[test]
fn lines_go_by_columns() {
    let mut run = Command::new(FURWOCK);
    let run = run.arg("doctor").env("COLUMNS", "60");
    let out = String::from_utf8(run.output().unwrap().stdout).unwrap();
    // The library's path is one word, and may be longer.
    let is_too_long = |line: &&str| line.chars().count() > 60 && !line.contains("/");
    assert_eq!(out.lines().filter(is_too_long).collect::<Vec<_>>(), [""; 0]);
    assert!(out.lines().count() > 20 && out.lines().any(|line| line.len() > 50), "{out}");
}

/// The library's own words, from a process that it stands aside in.
#[test]
fn what_the_library_leaves_to_glibc_is_said_in_its_words() {
    if !library_is_built() {
        return;
    }
    let said = "valgrind has to see glibc's own locks";
    // As valgrind does with its own.
    let scratch = Scratch::new("what_the_library_leaves_to_glibc_is_said_in_its_words");
    let tool = scratch.path("vgpreload_core.so");
    std::fs::rename(scratch.stub(), &tool).unwrap();
    let run = doctor(&[]).env("LD_PRELOAD", &tool).env("FURWOCK_QUIET", "1").output().unwrap();
    let words = run.out().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(run.status.code() == Some(1) && words.contains(said), "{words}");
}

#[test]
fn settings_that_hurt_are_named_with_a_remedy() {
    let shell = "ulimit -n 64; ulimit -v 8000000; exec \"$0\" doctor";
    let run = Command::new("sh").args(["-c", shell, FURWOCK]).output().unwrap();
    let words = run.out().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("note descriptors ulimit -n is 64"), "{words}");
    assert!(words.contains("-> ulimit -n 1024"), "{words}");
    assert!(words.contains("note ulimit -v 8000000 KiB"), "{words}");
}

#[test]
fn bad_usage_is_refused() {
    for words in [&["--output", "x"][..], &["--costs", "--json"], &["--gone"], &["words"]] {
        assert_eq!(doctor(words).output().unwrap().status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn an_unwritable_file_is_refused() {
    let run = doctor(&["--costs", "--output", "/no/such/folder/machine.toml"]).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(run.err().contains("cannot write /no/such/folder/machine.toml"), "{}", run.err());
    assert!(run.out().is_empty());
}

/// Fields whose value can be checked against what any machine does.
fn check(text: &str) -> Machine {
    let machine = Machine::parse("measured", text).unwrap_or_else(|bad| panic!("{bad}\n{text}"));
    let costs = machine.costs;
    let is_within = |what: &str, cost: u64, least: u64, most: u64| {
        assert!((least * 1000..=most * 1000).contains(&cost), "{what}: {cost} ps\n{text}");
    };
    is_within("hit", costs.hit, 0, 50);
    is_within("rmw", costs.rmw, 1, 500);
    is_within("pause", costs.pause, 1, 1_000);
    is_within("call", costs.call, 20, 20_000);
    is_within("spawn", costs.spawn, 1_000, 10_000_000);
    is_within("slice", costs.slice, 300_000, 1_000_000_000);
    assert!(costs.deep_after >= costs.halts_after);
    machine
}

/// Threads that take turns with a word, and sleep for each other.
fn simulate(machine: &Machine) {
    const THREADS: u32 = 4;
    const TURNS: u32 = 50;
    let turn = AtomicU32::new(0);
    let run = Simulation::new(machine, 1).run(|scope| {
        for thread in 0..THREADS {
            let turn = &turn;
            scope.spawn(move || {
                for own in (0..TURNS).map(|round| round * THREADS + thread) {
                    loop {
                        let seen = turn.load(Ordering::Acquire);
                        if seen == own {
                            break;
                        }
                        machine::kernel_wait(turn, seen, None);
                    }
                    machine::work_ns(500);
                    turn.fetch_add(1, Ordering::Release);
                    machine::kernel_wake(turn, usize::MAX);
                }
            });
        }
    });
    let run = run.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(turn.load(Ordering::Relaxed), THREADS * TURNS);
    assert!(run.now_ns > u64::from(THREADS * TURNS) * 500, "{} ns", run.now_ns);
}

#[test]
fn the_simulator_reads_what_was_measured() {
    let scratch = Scratch::new("the_simulator_reads_what_was_measured");
    let path = scratch.path("machine.toml");
    let run = succeed(doctor(&["--costs", "--output", path.to_str().unwrap()]));
    assert!(run.out().is_empty() && run.err().contains("values measured"), "{}", run.err());
    let text = std::fs::read_to_string(&path).unwrap();
    simulate(&check(&text));
    assert!(text.contains("serve = 15.0 # estimate: "), "{text}");
    assert!(!text.contains("hit = 1.00 # estimate"), "{text}");
}

/// One allowed processor has no neighbours.
#[test]
fn on_one_processor_the_rest_is_estimated() {
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first: String = allowed.trim().chars().take_while(char::is_ascii_digit).collect();
    let mut taskset = Command::new("taskset");
    taskset.args(["-c", &first, FURWOCK, "doctor", "--costs"]);
    let Ok(run) = taskset.output() else { return eprintln!("skipped: no taskset") };
    assert_eq!(run.status.code(), Some(0), "{}", run.err());
    let machine = check(&run.out());
    assert_eq!(machine.processors(), 1);
    let why = "# Estimates: cluster, socket, remote: this process may use one processor only.";
    assert_eq!(run.out().matches(why).count(), 4, "{}", run.out());

    let found = Command::new("taskset").args(["-c", &first, FURWOCK, "doctor"]).output().unwrap();
    assert!(found.out().contains("note     processors   1 allowed"), "{}", found.out());
}
