//! `furwock bench`: tiny grids, for what is printed and how failures are reported.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use common::{FURWOCK, Scratch, Text, WIDE, furwock_with, json, succeed};

/// The contestants that have a mutex and a rwlock.
const NAMES: [&str; 10] = [
    "furwock",
    "furwock-preload",
    "glibc",
    "std",
    "parking_lot",
    "usync",
    "nsync",
    "abseil",
    "parking_lot-fair",
    "kernel",
];
/// Those that have a mutex only.
const MUTEXES: [&str; 2] = ["mcs-park", "malthusian-park"];
/// The libraries that need not be here.
const OPTIONAL: [&str; 2] = ["nsync", "abseil"];

/// The names of those that are here.
fn measured(benchmark: &Value) -> Vec<&'static str> {
    let absent = benchmark["absent"].as_array().unwrap();
    for absent in absent {
        assert!(OPTIONAL.iter().any(|name| absent["contestant"] == *name), "{absent}");
        assert!(absent["reason"].as_str().unwrap().contains("Debian's package is"), "{absent}");
        eprintln!("SKIPPED: {absent}");
    }
    NAMES.into_iter().filter(|name| absent.iter().all(|each| each["contestant"] != *name)).collect()
}

fn tiny(scratch: &Scratch, arguments: &[&str]) -> Output {
    let common = ["--threads", "2", "--rounds", "1", "--seconds", "0.05"];
    let arguments = [&["bench"], arguments, &common].concat();
    scratch.furwock(&arguments).output().unwrap()
}

/// The lines of the table with this title, from its header to the blank line. A folded table's
/// parts are joined again.
fn table(text: &str, title: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(title)).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let of_part = lines.iter().skip(1).position(|line| line.starts_with("case "));
    let part = of_part.map_or(lines.len(), |row| row + 1);
    let joined = |row| lines[row..].iter().step_by(part).copied().collect::<Vec<_>>().join("  ");
    (0..part).map(joined).collect()
}

fn fits(text: &str) {
    let sentence = |line: &str| {
        ["Warning", "noise", "absent", "speed over"].iter().any(|word| line.starts_with(word))
    };
    // The machine's line, the first, is as long as its names are.
    let tables = text.lines().skip(1).filter(|line| !sentence(line));
    tables.for_each(|line| assert!(line.chars().count() <= WIDE, "{line}"));
}

#[test]
fn mutexes_of_all_implementations() {
    let scratch = Scratch::new("mutexes_of_all_implementations");
    let file = scratch.path("out.json");
    let run = tiny(&scratch, &["mutex", "--sections", "1/1,0/0", "--json", file.to_str().unwrap()]);
    assert_eq!(run.status.code(), Some(0), "{} {}", run.out(), run.err());
    assert!(
        run.err().contains("2 cases, 1 round of ") && run.err().contains("about"),
        "{}",
        run.err()
    );
    let out = run.out();
    fits(&out);
    for title in [
        "operations a second",
        "wait, 99.9th",
        "longest wait",
        "processor time",
        "Jain's fairness",
        "speed over peers'",
    ] {
        let table = table(&out, title);
        assert_eq!(table.len(), 3, "{title}: {out}");
        assert!(table[1].starts_with("1/1 x 2") && table[2].starts_with("0/0 x 2"), "{out}");
        // On a busy machine perhaps no peer is fair.
        let may_lack = title == "speed over peers'";
        assert!(may_lack || table[1..].iter().all(|row| !row.contains(" -")), "{out}");
    }
    let last = out.lines().last().unwrap();
    assert!(last.contains("mutex, 2 cases: furwock over the best peer is faster in "), "{out}");
    assert!(last.ends_with(" of 2."), "{out}");
    let means = table(&out, "geometric means");
    let best = ["best of each case", "best fair of each case"];
    for peer in ["glibc", "std", "parking_lot", "usync"].iter().chain(&MUTEXES).chain(&best) {
        assert!(means.iter().any(|row| row.starts_with(peer)), "{out}");
    }
    // The stub replaces nothing, which causes a warning.
    assert!(out.contains("Warning: furwock-preload's locks came from"), "{out}");

    let document = json(&file);
    assert!(!document["machine"]["cpu"].is_null() && !document["preload"].is_null());
    assert_eq!(document["command"][1], "mutex");
    let benchmark = &document["benchmarks"][0];
    assert_eq!(benchmark["name"], "mutex");
    let names = [measured(benchmark), MUTEXES.into()].concat();
    for case in benchmark["cases"].as_array().unwrap() {
        assert_eq!(case["parameters"]["threads"], 2.0);
        assert!(case["bound"].as_f64().unwrap() > 0.0);
        let results = case["results"].as_array().unwrap();
        assert!(results.iter().map(|result| &result["impl"]).eq(names.iter()), "{case}");
        for result in results {
            let rounds = result["rounds"].as_array().unwrap();
            assert_eq!((rounds.len(), &rounds[0]["report"]["ok"]), (1, &Value::Bool(true)));
            assert!(result["figures"]["ops_per_second"]["median"].as_f64().unwrap() > 0.0);
            assert!(result["figures"]["wait_p999_s"]["max"].is_f64());
        }
    }
    let standings = benchmark["standings"].as_array().unwrap();
    assert_eq!(standings.len(), 4);
    standings.iter().for_each(|standing| assert_best_fair(benchmark, standing));
    // Both of ours over each peer, over the best and over the best fair one.
    assert_eq!(benchmark["means"].as_array().unwrap().len(), 2 * (names.len() - 2 + 2));
}

/// Of the peers whose index is at least 0.9 in the case, if any, the fastest is named.
fn assert_best_fair(benchmark: &Value, standing: &Value) {
    let cases = benchmark["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["name"] == standing["case"]).unwrap();
    let median = |result: &Value, figure: &str| result["figures"][figure]["median"].as_f64();
    let rate = |result: &Value| median(result, "ops_per_second").unwrap();
    let results = case["results"].as_array().unwrap();
    let peers =
        results.iter().filter(|result| !NAMES[..2].iter().any(|ours| result["impl"] == *ours));
    let fair = peers.filter(|result| median(result, "jain").unwrap() >= 0.9);
    let best = fair.max_by(|one, other| rate(one).total_cmp(&rate(other)));
    assert_eq!(standing["best_fair_peer"], best.map_or(Value::Null, |best| best["impl"].clone()));
    let ours = results.iter().find(|result| result["impl"] == standing["contestant"]).unwrap();
    let ratio = standing["over_best_fair_peer"]["ratio"].as_f64();
    let expected = best.map(|best| rate(ours) / rate(best));
    let close = |(ratio, expected): (f64, f64)| (ratio / expected - 1.0).abs() < 1e-9;
    assert_eq!(ratio.is_some(), expected.is_some(), "{standing} {case}");
    assert!(ratio.zip(expected).is_none_or(close), "{standing} {case}");
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
    // Without writes no thread waits to write.
    assert_eq!(table(&out, "writers' wait").len(), 2, "{out}");
    assert_eq!(table(&out, "longest wait of a writer").len(), 2, "{out}");
    let document = json(&file);
    let names = measured(&document["benchmarks"][0]);
    let case = &document["benchmarks"][0]["cases"][1];
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
    let arguments = ["bench", "pair", "--rounds", "1", "--json", file.to_str().unwrap()];
    let out = succeed(scratch.furwock(&arguments)).out();
    fits(&out);
    let document = json(&file);
    let benchmark = &document["benchmarks"][0];
    let names = measured(benchmark);
    let cases = benchmark["cases"].as_array().unwrap();
    assert!(cases.iter().map(|case| &case["name"]).eq(["mutex", "read", "write"]));
    for case in cases {
        let results = case["results"].as_array().unwrap();
        assert!(results.iter().map(|result| &result["impl"]).eq(names.iter()), "{case}");
        for result in results {
            for figure in ["pair_s", "floor_s"] {
                let median = result["figures"][figure]["median"].as_f64().unwrap();
                assert!((0.5e-9..1e-4).contains(&median), "{figure}: {result}");
            }
        }
    }
    assert_eq!(table(&out, "speed over peers'").len(), 4, "{out}");
}

#[test]
fn locks_that_do_not_exclude_are_reported() {
    let scratch = Scratch::new("locks_that_do_not_exclude_are_reported");
    for (arguments, case) in [
        (["mutex", "--sections", "5/5"], "5/5 x 2"),
        (["rwlock", "--sections", "5/5"], "50% 5/5 x 2"),
    ] {
        // On a busy machine the threads may not meet.
        let arguments = [&arguments[..], &["--impl", "broken,std"]].concat();
        let mut runs = (0..5).map(|_| tiny(&scratch, &arguments));
        let run = runs.find(|run| run.status.code() != Some(0)).expect("not noticed");
        assert_eq!(run.status.code(), Some(1), "{}", run.out());
        let out = run.out();
        let reason = format!("FAILED: {} {case} with broken: ", arguments[0]);
        let reason = out.lines().find(|line| line.starts_with(&reason));
        assert!(reason.is_some_and(|line| line.contains("did not exclude")), "{out}");
        let rates = table(&out, "operations a second");
        let row = rates.iter().find(|row| row.starts_with(case)).unwrap();
        let last = out.lines().last().unwrap();
        assert!(last.contains(" result") && last.ends_with(" FAILED."), "{out}");
        // The others are still measured.
        assert!(row.contains("FAILED") && row.ends_with(['k', 'M']), "{out}");
    }
}

#[test]
fn a_hang_is_reported() {
    let scratch = Scratch::new("a_hang_is_reported");
    let arguments =
        ["bench", "mutex", "--impl", "std", "--threads", "2", "--sections", "1/1", "--rounds", "1"];
    let run = scratch.furwock(&[&arguments[..], &["--seconds", "20", "--timeout", "0.2"]].concat());
    let run = { run }.output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", run.out());
    assert!(
        run.out().contains("FAILED: mutex 1/1 x 2 with std: hang, operations "),
        "{}",
        run.out()
    );
}

#[test]
fn bad_lists_name_what_there_is() {
    let scratch = Scratch::new("bad_lists_name_what_there_is");
    let run = tiny(&scratch, &["mutex", "--impl", "furwock,spinny"]);
    assert_eq!(run.status.code(), Some(2));
    let names = || NAMES.iter().chain(&MUTEXES);
    assert!(names().all(|name| run.err().contains(name)), "{}", run.err());
    assert_eq!(tiny(&scratch, &["rwlock", "--writes", "half"]).status.code(), Some(2));
    assert!(run.err().contains("event-listener"), "{}", run.err());
    let unknown = scratch.furwock(&["bench", "mutx"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(unknown.err().contains("'mutex'"), "{}", unknown.err());
    assert!(
        unknown.err().contains("papers, scaling, memory, pair, mutex, rwlock"),
        "{}",
        unknown.err()
    );
    let unable = scratch.furwock(&["bench", "hash", "--impl", "usync"]).output().unwrap();
    assert_eq!(unable.status.code(), Some(2));
    assert!(unable.err().contains("usync: it has no waits on words"), "{}", unable.err());
    for (workload, lacking) in [("rwlock", "rwlock"), ("pair", "rwlock"), ("cond", "condition")] {
        let unable = scratch.furwock(&["bench", workload, "--impl", "mcs-park"]).output().unwrap();
        assert_eq!(unable.status.code(), Some(2));
        assert!(
            unable.err().contains(&format!("mcs-park: it has no {lacking}")),
            "{}",
            unable.err()
        );
    }
    assert!(unable.err().contains("can be measured with furwock"), "{}", unable.err());
}

#[test]
fn more_threads_than_there_can_be_are_refused_with_the_limit() {
    let scratch = Scratch::new("more_threads_than_there_can_be");
    for words in [&["mutex", "--threads", "90000000"][..], &["queue", "-t", "1/90000000"]] {
        let run = scratch.furwock(&[&["bench"], words].concat()).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{}", run.out());
        assert!(run.err().contains("threads are too many: this system allows"), "{}", run.err());
        assert!(run.err().contains(" is "), "{}", run.err());
    }
}

/// Each workload with all contestants that can run it, at a size that only shows that it works.
#[test]
fn every_workload_runs_with_all_contestants() {
    let scratch = Scratch::new("every_workload_runs_with_all_contestants");
    let timed = ["--seconds", "0.1"];
    let workloads: [&[&str]; 12] = [
        &["cond", "-n", "5", "-r", "3"],
        &["pp", "-n", "2", "-i", "10"],
        &["queue", "-t", "2/1", "--items", "500"],
        &["sem", "-t", "3", "-p", "2", "--sections", "1/0"],
        &["barrier", "-t", "3", "--work", "0"],
        &["pingpong", "-n", "1", "--place", "same"],
        &["waitset", "-t", "2/2", "-f", "8"],
        &["waitv", "-f", "3,200"],
        &["hash", "-t", "1", "-f", "16"],
        &["wake", "-t", "4", "-w", "2"],
        &["wake-parallel", "-t", "4", "-w", "2"],
        &["requeue", "-t", "4", "-B"],
    ];
    for words in workloads {
        let file = scratch.path("out.json");
        let output = ["--json", file.to_str().unwrap(), "--rounds", "1"];
        succeed(scratch.furwock(&[&["bench"], words, &output, &timed].concat()));
        let document = json(&file);
        let benchmark = &document["benchmarks"][0];
        let results = benchmark["cases"][0]["results"].as_array().unwrap();
        for result in results {
            assert_eq!(result["failure"], Value::Null, "{words:?}");
            assert_eq!(result["rounds"].as_array().unwrap().len(), 1, "{words:?} {result}");
        }
        // The library's condition variable is among them.
        let std = results.iter().any(|result| result["impl"] == "std");
        assert!(std || !["cond", "pp", "queue"].contains(&words[0]), "{words:?}");
        let optional = |absent: &Value| OPTIONAL.iter().any(|name| absent["contestant"] == *name);
        assert!(benchmark["absent"].as_array().unwrap().iter().all(optional), "{words:?}");
    }
    succeed(scratch.furwock(&[
        "bench",
        "lock-pi",
        "-t",
        "2",
        "--sections",
        "1/1",
        "--rounds",
        "1",
    ]));
}

#[test]
fn an_unable_contestant_is_not_a_failed_one() {
    let scratch = Scratch::new("an_unable_contestant");
    let run = tiny_without_threads(&scratch, &["waitv", "-f", "200", "--impl", "furwock,kernel"]);
    assert_eq!(run.status.code(), Some(0), "{}", run.out());
    assert!(run.out().contains("-: kernel can't run 200"), "{}", run.out());
    assert!(run.out().contains("128 words at most") && !run.out().contains("FAILED"));
}

fn tiny_without_threads(scratch: &Scratch, arguments: &[&str]) -> Output {
    let common = ["--rounds", "1", "--seconds", "0.03"];
    scratch.furwock(&[&["bench"], arguments, &common].concat()).output().unwrap()
}

#[test]
fn a_page_and_values_are_written() {
    let scratch = Scratch::new("a_page_and_values_are_written");
    let (page, values) = (scratch.path("page.html"), scratch.path("values.csv"));
    let outputs = ["--report", page.to_str().unwrap(), "--csv", values.to_str().unwrap()];
    let words = ["mutex", "--sections", "1/1", "--impl", "furwock,std"];
    let run = tiny(&scratch, &[&words[..], &outputs].concat());
    assert_eq!(run.status.code(), Some(0), "{}", run.err());
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("1/1 x 2"), "{page}");
    assert!(page.contains("How we measured"));
    for text in ["best fair peer", "furwock/fair", "Jain"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let values = fs::read_to_string(values).unwrap();
    let mut lines = values.lines();
    assert!(lines.next().unwrap().starts_with("benchmark,case,implementation,figure,"));
    assert!(lines.any(|line| line.starts_with("mutex,1/1 x 2,std,ops_per_second,1,")), "{values}");
    // On a busy machine the only peer may have been unfair.
    let jain = values.lines().find_map(|line| line.strip_prefix("mutex,1/1 x 2,std,jain,1,"));
    let (jain, _) = jain.unwrap().split_once(',').unwrap();
    let jain: f64 = jain.parse().unwrap();
    let is_compared = page.contains("the best fair peer of each case");
    assert_eq!(is_compared, jain >= 0.9, "{jain}: {page}");

    let nowhere = ["--report", "/no/such/folder/page.html"];
    let run = tiny(&scratch, &[&words[..], &nowhere].concat());
    assert_eq!(run.status.code(), Some(1));
    assert!(run.err().contains("/no/such/folder/page.html"), "{}", run.err());
    // Before anything was measured.
    assert_eq!(run.out(), "");
}

#[test]
fn a_baseline_is_run_again_and_compared() {
    let scratch = Scratch::new("a_baseline_is_run_again");
    let file = scratch.path("old.json");
    let words = ["mutex", "--sections", "1/1", "--impl", "std", "--json", file.to_str().unwrap()];
    let run = tiny(&scratch, &words);
    assert_eq!(run.status.code(), Some(0), "{}", run.err());
    let old = fs::read_to_string(&file).unwrap();

    let baseline = ["bench", "--baseline", file.to_str().unwrap()];
    let again = succeed(scratch.furwock(&baseline));
    assert!(again.out().contains("2 figures compared with the baseline"), "{}", again.out());
    // The old file isn't written again.
    assert_eq!(fs::read_to_string(&file).unwrap(), old);

    // Rounds of another speed are reported as a gain.
    let mut faster: Value = serde_json::from_str(&old).unwrap();
    let result = &mut faster["benchmarks"][0]["cases"][0]["results"][0];
    let round = result["rounds"][0].clone();
    let slow = |factor: f64| {
        let mut round = round.clone();
        let rate = &mut round["report"]["figures"]["ops_per_second"];
        *rate = (rate.as_f64().unwrap() / factor).into();
        round
    };
    result["rounds"] = vec![slow(100.0), slow(101.0), slow(102.0)].into();
    fs::write(&file, faster.to_string()).unwrap();
    let three = ["bench", "mutex", "--sections", "1/1", "--impl", "std", "--rounds", "3"];
    let short = ["--seconds", "0.02", "--threads", "2"];
    let now = [&three[..], &short, &baseline[1..]].concat();
    let now = scratch.furwock(&now).output().unwrap();
    assert!(now.out().contains("mutex 1/1 x 2  std"), "{}", now.out());
    assert!(now.out().contains(" better (0 of furwock's)"), "{}", now.out());

    for (name, content) in [("empty.json", "{}"), ("text", "not JSON")] {
        let file = scratch.path(name);
        fs::write(&file, content).unwrap();
        let run = scratch.furwock(&["bench", "--baseline", file.to_str().unwrap()]).output();
        let run = run.unwrap();
        assert_eq!(run.status.code(), Some(2), "{name}");
        assert!(run.err().contains(name), "{}", run.err());
    }
}

#[test]
fn the_papers_tables() {
    let scratch = Scratch::new("the_papers_tables");
    let (page, picture) = (scratch.path("papers.html"), scratch.path("papers.svg"));
    let file = scratch.path("papers.json");
    let run = scratch.furwock(&[
        "bench",
        "papers",
        "--only",
        "almeida",
        "--rounds",
        "1",
        "--seconds",
        "0.1",
        "--report",
        page.to_str().unwrap(),
        "--picture",
        picture.to_str().unwrap(),
        "--json",
        file.to_str().unwrap(),
    ]);
    let run = succeed(run);
    assert!(run.out().contains("Almeida 2020: waiting on many words"), "{}", run.out());
    assert!(run.out().contains("4 % less (Beat Saber)"), "{}", run.out());
    let answer = &json(&file)["answer"][0];
    assert_eq!(answer["paper"], "Almeida 2020");
    let rows = &answer["rows"];
    assert!(rows.as_array().unwrap().iter().all(|row| row["gain"]["gain"].is_f64()), "{rows}");
    assert!(fs::read_to_string(page).unwrap().contains("Almeida 2020: waiting on many"));
    assert!(fs::read_to_string(picture).unwrap().contains("</svg>"));
    let no_such = scratch.furwock(&["bench", "papers", "--only", "knuth"]).output().unwrap();
    assert_eq!(no_such.status.code(), Some(2));
}

#[test]
fn memory_is_counted() {
    let scratch = Scratch::new("memory_is_counted");
    let file = scratch.path("memory.json");
    let short = ["--starts", "5", "--threads", "10", "--json", file.to_str().unwrap()];
    succeed(scratch.furwock(&[&["bench", "memory"], &short[..]].concat()));
    let document = json(&file);
    assert_eq!(document["sizes"][0]["object"], "mutex");
    assert_eq!(document["processes"].as_array().unwrap().len(), 3);
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
fn the_library_that_records_takes_part_if_it_is_asked_for() {
    let scratch = Scratch::new("the_library_that_records_takes_part");
    let library = Path::new(FURWOCK).with_file_name("libfurwock_preload.so");
    assert!(library.is_file(), "{}: cargo build --release makes it", library.display());
    for words in [&["mutex", "--sections", "1/1"][..], &["rwlock", "--sections", "1/1"]] {
        let asked = ["--impl", "furwock-preload,furwock-recording", "--json", "-"];
        let short = ["--threads", "2", "--rounds", "1", "--seconds", "0.05"];
        // The libraries themselves: the stub has no other beside it.
        let mut command = furwock_with(&library, &[&["bench"], words, &asked, &short].concat());
        let run = command.output().unwrap();
        let document: Value = serde_json::from_str(&run.out()).unwrap();
        let results = document["benchmarks"][0]["cases"][0]["results"].as_array().unwrap();
        let used = |name| {
            let result = results.iter().find(|result| result["impl"] == name).unwrap();
            assert_eq!(result["failure"], Value::Null, "{result}");
            let from = result["rounds"][0]["report"]["locks_from"].as_str().unwrap();
            from.rsplit('/').next().unwrap().to_owned()
        };
        assert_eq!(used("furwock-preload"), "libfurwock_preload.so");
        assert_eq!(used("furwock-recording"), "libfurwock_preload_recording.so");
        assert!(!run.err().contains("locks came from"), "{}", run.err());
    }
    let missing = scratch.path("missing.so");
    let mut command = furwock_with(&missing, &["bench", "mutex", "--impl", "furwock-recording"]);
    assert_eq!(command.output().unwrap().status.code(), Some(125));
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
fn benchmarks_have_help() {
    for words in [&["bench", "--help"][..], &["bench", "rwlock", "--help"]] {
        let help = Command::new(FURWOCK).args(words).output().unwrap();
        assert_eq!(help.status.code(), Some(0));
        assert!(help.out().contains("furwock bench"), "{}", help.out());
    }
}
