//! `furwock bench`: tiny grids, for what is printed and how failures are told.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use common::{FURWOCK, Scratch, Text, furwock_with};

const NAMES: [&str; 7] =
    ["furwock", "furwock-preload", "glibc", "std", "parking_lot", "usync", "nsync"];

fn json(path: &std::path::Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The names of those who are here: nsync need not be.
fn measured(document: &Value) -> Vec<&'static str> {
    let absent = document["absent"].as_array().unwrap();
    for absent in absent {
        assert_eq!(absent["contestant"], "nsync", "{absent}");
        assert!(absent["reason"].as_str().unwrap().contains("libnsync1"), "{absent}");
        eprintln!("SKIPPED: {absent}");
    }
    NAMES.into_iter().filter(|name| absent.iter().all(|each| each["contestant"] != *name)).collect()
}

fn tiny(scratch: &Scratch, arguments: &[&str]) -> Output {
    let common = ["--threads", "2", "--rounds", "1", "--seconds", "0.05"];
    let arguments = [&["bench"], arguments, &common].concat();
    scratch.furwock(&arguments).output().unwrap()
}

/// The lines of the table with this title, from its header to the blank line.
fn table<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(title)).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn fits(text: &str) {
    let sentence =
        |line: &str| ["Warning", "noise", "absent"].iter().any(|word| line.starts_with(word));
    // The machine's line, the first, is as long as its names are.
    let tables = text.lines().skip(1).filter(|line| !sentence(line));
    tables.for_each(|line| assert!(line.chars().count() <= 100, "{line}"));
}

#[test]
fn mutexes_of_all_implementations() {
    let scratch = Scratch::new("mutexes_of_all_implementations");
    let file = scratch.path("out.json");
    let run = tiny(&scratch, &["mutex", "--sections", "1/1,0/0", "--json", file.to_str().unwrap()]);
    assert_eq!(run.status.code(), Some(0), "{} {}", run.out(), run.err());
    assert!(run.err().contains("2 cases x") && run.err().contains("about"), "{}", run.err());
    let out = run.out();
    fits(&out);
    for title in [
        "operations a second",
        "wait for the lock, 99.9th",
        "longest wait",
        "processor time",
        "speed over peers'",
    ] {
        let table = table(&out, title);
        assert_eq!(table.len(), 3, "{title}: {out}");
        assert!(table[1].starts_with("1/1 x 2") && table[2].starts_with("0/0 x 2"), "{out}");
        assert!(table[1..].iter().all(|row| !row.contains(" -")), "{out}");
    }
    let means = table(&out, "geometric means");
    for peer in ["glibc", "std", "parking_lot", "usync", "best of each case"] {
        assert!(means.iter().any(|row| row.starts_with(peer)), "{out}");
    }
    // The stub replaces nothing, and that does not go unsaid.
    assert!(out.contains("Warning: furwock-preload's locks came from"), "{out}");

    let document = json(&file);
    assert_eq!(document["benchmark"], "mutex");
    assert!(!document["machine"]["cpu"].is_null() && !document["preload"].is_null());
    let names = measured(&document);
    for case in document["cases"].as_array().unwrap() {
        assert_eq!(case["parameters"]["threads"], 2.0);
        let results = case["results"].as_array().unwrap();
        assert!(results.iter().map(|result| &result["impl"]).eq(names.iter()), "{case}");
        for result in results {
            let rounds = result["rounds"].as_array().unwrap();
            assert_eq!((rounds.len(), &rounds[0]["report"]["ok"]), (1, &Value::Bool(true)));
            assert!(result["figures"]["ops_per_second"]["median"].as_f64().unwrap() > 1000.0);
            assert!(result["figures"]["wait_p999_s"]["max"].is_f64());
        }
    }
    assert_eq!(document["standings"].as_array().unwrap().len(), 4);
    // Both of ours over each peer and over the best.
    assert_eq!(document["means"].as_array().unwrap().len(), 2 * (names.len() - 2 + 1));
}

#[test]
fn rwlocks_of_all_implementations() {
    let scratch = Scratch::new("rwlocks_of_all_implementations");
    let file = scratch.path("out.json");
    let arguments =
        ["rwlock", "--writes", "0,20", "--sections", "0.2", "--json", file.to_str().unwrap()];
    let run = tiny(&scratch, &arguments);
    assert_eq!(run.status.code(), Some(0), "{} {}", run.out(), run.err());
    let out = run.out();
    fits(&out);
    assert_eq!(table(&out, "operations a second").len(), 3, "{out}");
    assert_eq!(table(&out, "readers' wait").len(), 3, "{out}");
    // Nobody waits to write where nobody writes.
    assert_eq!(table(&out, "writers' wait").len(), 2, "{out}");
    assert_eq!(table(&out, "longest wait of a writer").len(), 2, "{out}");
    let document = json(&file);
    let names = measured(&document);
    let case = &document["cases"][1];
    assert_eq!(case["name"], "20% 0.2/0 x 2");
    assert_eq!(case["results"].as_array().unwrap().len(), names.len());
    for result in case["results"].as_array().unwrap() {
        let median = |name: &str| result["figures"][name]["median"].as_f64().unwrap();
        let share = median("writes_per_second") / median("ops_per_second");
        assert!((0.1..0.3).contains(&share), "{result}");
        assert!(median("write_wait_p999_s") <= median("write_wait_max_s"));
    }
}

#[test]
fn pairs_of_all_implementations() {
    let scratch = Scratch::new("pairs_of_all_implementations");
    let file = scratch.path("out.json");
    let run =
        scratch.furwock(&["bench", "pair", "--rounds", "1", "--json", file.to_str().unwrap()]);
    let run = { run }.output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{} {}", run.out(), run.err());
    let out = run.out();
    fits(&out);
    let document = json(&file);
    let names = measured(&document);
    for name in names {
        assert!(out.lines().any(|line| line.split_whitespace().next() == Some(name)), "{out}");
        for kind in ["mutex", "read", "write", "floor"] {
            let median = document["nanoseconds"][name][kind]["median"].as_f64().unwrap();
            assert!((0.5..100_000.0).contains(&median), "{name} {kind}: {median}");
        }
    }
    assert_eq!(table(&out, "speed over peers'").len(), 4, "{out}");
}

#[test]
fn locks_that_do_not_exclude_are_told_of() {
    let scratch = Scratch::new("locks_that_do_not_exclude_are_told_of");
    for (arguments, case) in [
        (["mutex", "--sections", "5/5"], "5/5 x 2"),
        (["rwlock", "--sections", "5/5"], "50% 5/5 x 2"),
    ] {
        let run = tiny(&scratch, &[&arguments[..], &["--impl", "broken,std"]].concat());
        assert_eq!(run.status.code(), Some(1), "{}", run.out());
        let out = run.out();
        let reason = format!("FAILED: {case} with broken: ");
        let reason = out.lines().find(|line| line.starts_with(&reason));
        assert!(reason.is_some_and(|line| line.contains("did not exclude")), "{out}");
        let rates = table(&out, "operations a second");
        let row = rates.iter().find(|row| row.starts_with(case)).unwrap();
        // Whoever comes after it is measured all the same.
        assert!(row.contains("FAILED") && row.ends_with(['k', 'M']), "{out}");
    }
}

#[test]
fn a_hang_is_told_of() {
    let scratch = Scratch::new("a_hang_is_told_of");
    let arguments =
        ["bench", "mutex", "--impl", "std", "--threads", "2", "--sections", "1/1", "--rounds", "1"];
    let run = scratch.furwock(&[&arguments[..], &["--seconds", "20", "--timeout", "0.2"]].concat());
    let run = { run }.output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", run.out());
    assert!(run.out().contains("FAILED: 1/1 x 2 with std: hang, operations "), "{}", run.out());
}

#[test]
fn bad_lists_name_what_there_is() {
    let scratch = Scratch::new("bad_lists_name_what_there_is");
    let run = tiny(&scratch, &["mutex", "--impl", "furwock,spinny"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(NAMES.iter().all(|name| run.err().contains(name)), "{}", run.err());
    assert_eq!(tiny(&scratch, &["rwlock", "--writes", "half"]).status.code(), Some(2));
    assert_eq!(tiny(&scratch, &["no-such-benchmark"]).status.code(), Some(2));
}

#[test]
fn without_the_library_the_preload_is_absent() {
    let scratch = Scratch::new("without_the_library_the_preload_is_absent");
    let missing = scratch.path("missing.so");
    let run = |implementations: &[&str]| {
        let short = ["--rounds", "1", "--seconds", "0.02", "--threads", "2", "--sections", "1/1"];
        let arguments = [&["bench", "mutex"], &short[..], implementations].concat();
        furwock_with(&missing, &arguments).output().unwrap()
    };
    let all = run(&[]);
    assert_eq!(all.status.code(), Some(0), "{}", all.err());
    assert!(all.out().contains("absent: furwock-preload: "), "{}", all.out());
    assert_eq!(run(&["--impl", "furwock-preload"]).status.code(), Some(125));
}

#[test]
fn json_on_standard_output_has_it_to_itself() {
    let scratch = Scratch::new("bench_json_on_standard_output");
    let run = tiny(&scratch, &["mutex", "--sections", "1/1", "--impl", "std", "--json", "-"]);
    let document: Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!(document["interrupted"], false);
    assert!(run.err().contains("operations a second"), "{}", run.err());
}

#[test]
fn an_interrupt_prints_what_there_is() {
    let scratch = Scratch::new("bench_an_interrupt_prints_what_there_is");
    let arguments = ["bench", "mutex", "--impl", "std,usync", "--rounds", "10000"];
    let short = ["--seconds", "0.02", "--threads", "2", "--sections", "1/1"];
    let mut command = scratch.furwock(&[&arguments[..], &short].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut announcement = String::new();
    stderr.read_line(&mut announcement).unwrap();
    assert!(announcement.contains("about"), "{announcement}");
    std::thread::sleep(Duration::from_secs(1));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let run = child.wait_with_output().unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(run.status.code(), Some(130), "{rest}");
    assert_eq!(table(&run.out(), "operations a second").len(), 2, "{}", run.out());
}

#[test]
fn help_says_what_is_measured() {
    for words in [&["bench", "--help"][..], &["bench", "rwlock", "--help"]] {
        let help = Command::new(FURWOCK).args(words).output().unwrap();
        assert_eq!(help.status.code(), Some(0));
        assert!(help.out().contains("furwock bench"), "{}", help.out());
    }
}
