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
    for words in ["wall time", "CPU time", "voluntary switches", "peak RSS", "95 % interval"] {
        assert!(run.out().contains(words), "{}", run.out());
    }
    assert!(run.out().contains("Standard input is /dev/null"), "{}", run.out());
    let out = run.out();
    let last = out.lines().last().unwrap();
    assert!(last.contains("furwock ran sleep ") && last.ends_with('.'), "{out}");
    assert!(!out.contains("no difference"), "{out}");

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
    let figures = document["summary"]["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 5);
    for figure in figures {
        assert!(figure["verdict"].is_string(), "{figure}");
        let medians = ["glibc", "furwock"].map(|side| figure["median"][side].as_f64().unwrap());
        // No gain over nothing.
        if let Some(gain) = figure["gain"].as_f64().filter(|_| medians[0] > 0.0) {
            assert!((gain / (medians[0] / medians[1]) - 1.0).abs() < 1e-9, "{figure}");
        }
    }
    // As hyperfine has them.
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(
        (&results[1]["side"], results[1]["times"].as_array().unwrap().len()),
        (&"furwock".into(), 6)
    );
    let wall = &figures[0]["median"]["furwock"];
    assert_eq!(&results[1]["median"], wall);
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
    assert!(
        run.err().contains("wall time") && run.err().contains("No verdict: 1 pair is too few"),
        "{}",
        run.err()
    );
}

#[test]
fn output_is_shown_only_on_request() {
    let scratch = Scratch::new("output_is_shown_only_on_request");
    let printed = |option: &[&str]| {
        let arguments = [&["compare", "-n", "1"], option, &["echo", "a-word"]].concat();
        scratch.furwock(&arguments).output().unwrap().out().lines().any(|line| line == "a-word")
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
    let out = run.out();
    assert!(out.contains("Interrupted after ") && out.contains(" of 10 pairs"), "{out}");
    assert!(out.ends_with(".\n"), "{out}");
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
    let row = run.out().lines().find(|line| line.trim().starts_with(cell)).unwrap().to_owned();
    assert!(row.ends_with("too few pairs"), "{row}");
    let last = "furwock was faster in 0, slower in 0, undecided in 1 of 1 workload. It takes 6 pairs \
                for a verdict.";
    assert!(run.out().trim_end().ends_with(last), "{}", run.out());
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
        assert!(report["figures"]["ops_per_second"].as_f64().unwrap() > 0.0);
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
    // On a busy machine the threads may not meet.
    let mut runs = (0..5).map(|_| furwock_with(&scratch.broken(), &arguments).output().unwrap());
    let run = runs.find(|run| run.status.code() != Some(0)).expect("not noticed");
    assert_eq!(run.status.code(), Some(1), "{}", run.out());
    let out = run.out();
    assert!(out.contains("FAILED: mutex 10/10 x 2 with furwock-preload"), "{out}");
    assert!(out.contains("did not exclude"), "{out}");
    assert!(out.trim_end().ends_with("1 of 1 FAILED."), "{out}");
}

/// The lines of a log that runs and the commands around them have written.
fn logged(scratch: &Scratch) -> Vec<String> {
    let log = fs::read_to_string(scratch.path("log")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

#[test]
fn commands_run_around_the_runs() {
    let scratch = Scratch::new("commands_run_around_the_runs");
    let log = scratch.path("log");
    let line = |what: &str| format!("echo {what} {{n}} \"[$LD_PRELOAD]\" >> {}", log.display());
    let [setup, prepare, run, conclude, cleanup] =
        ["setup", "prepare", "run", "conclude", "cleanup"].map(line);
    let options = ["compare", "-n", "2", "-w", "1", "-L", "n", "1,2", "-s", &setup, "-p", &prepare];
    let more = ["-C", &conclude, "-c", &cleanup, "sh", "-c", &run];
    succeed(scratch.furwock(&[&options[..], &more].concat()));
    let lines = logged(&scratch);
    for n in ["1", "2"] {
        let of_n: Vec<&str> = lines
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .filter(|words| words[1] == n)
            .map(|words| words[0])
            .collect();
        assert_eq!((of_n[0], of_n[of_n.len() - 1]), ("setup", "cleanup"), "{lines:?}");
        let inner = &of_n[1..of_n.len() - 1];
        // The warm-up, and two pairs, of which noise may have repeated one.
        assert!([18, 24].contains(&inner.len()), "{lines:?}");
        assert!(inner.chunks(3).all(|each| each == ["prepare", "run", "conclude"]), "{lines:?}");
    }
    // Only runs on furwock have its library.
    let with = |line: &&String| !line.ends_with("[]");
    assert!(lines.iter().filter(with).all(|line| line.starts_with("run ")), "{lines:?}");
    let [with, without] = [true, false].map(|wanted| {
        let runs = lines.iter().filter(|line| line.starts_with("run "));
        runs.filter(|line| line.ends_with("[]") != wanted).count()
    });
    assert_eq!(with, without, "{lines:?}");
}

#[test]
fn cleanup_runs_after_a_failure() {
    let scratch = Scratch::new("cleanup_runs_after_a_failure");
    let cleanup = format!("echo cleanup >> {}", scratch.path("log").display());
    let run = ["compare", "-c", &cleanup, "-p", "echo oh >&2; exit 4", "true"];
    let run = scratch.furwock(&run).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(run.err().contains("--prepare echo oh"), "{}", run.err());
    assert!(run.err().contains("exit status 4; oh"), "{}", run.err());
    assert_eq!(logged(&scratch), ["cleanup"]);
}

#[test]
fn each_value_of_a_parameter_is_a_row() {
    let scratch = Scratch::new("each_value_of_a_parameter_is_a_row");
    let [json_file, csv, markdown] =
        ["out.json", "out.csv", "out.md"].map(|name| scratch.path(name));
    let options = ["compare", "-n", "6", "-w", "0", "-P", "n", "1", "2", "-L", "how", "a,b"];
    let exports = [
        "--export-json",
        json_file.to_str().unwrap(),
        "--export-csv",
        csv.to_str().unwrap(),
        "--export-markdown",
        markdown.to_str().unwrap(),
    ];
    let run = scratch.furwock(&[&options[..], &exports, &["sh", "-c", ": {n} {how}"]].concat());
    let out = succeed(run).out();
    for table in ["wall time ", "CPU time "] {
        let rows: Vec<&str> =
            out.lines().skip_while(|line| !line.starts_with(table)).skip(1).take(4).collect();
        let names = ["n=1, how=a", "n=1, how=b", "n=2, how=a", "n=2, how=b"];
        assert!(rows.iter().zip(names).all(|(row, name)| row.starts_with(name)), "{out}");
    }
    let last = out.lines().last().unwrap();
    assert!(last.contains("of 4. CPU time: ") && last.ends_with(" of 4."), "{last}");
    let document = json(&json_file);
    let variations = document["variations"].as_array().unwrap();
    assert_eq!(variations.len(), 4);
    assert_eq!(variations[2]["parameters"], serde_json::json!({"n": "2", "how": "a"}));
    assert_eq!(variations[2]["command"][2], ": 2 a");
    let csv = fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8, "{csv}");
    assert!(csv.starts_with("command,mean,stddev,median,user,system,min,max,side,parameter_n,"));
    assert!(csv.lines().nth(2).unwrap().ends_with(",furwock,1,a"), "{csv}");
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(markdown.contains("\n| n=2, how=b | ") && markdown.contains("| :-- | "), "{markdown}");
}

#[test]
fn standard_streams_are_chosen() {
    let scratch = Scratch::new("standard_streams_are_chosen");
    let (input, output) = (scratch.path("input"), scratch.path("output"));
    fs::write(&input, "some words\n").unwrap();
    let compare = |options: &[&str]| {
        let command = [&["compare", "-n", "1"], options, &["cat"]].concat();
        succeed(scratch.furwock(&command)).out()
    };
    let out = compare(&["--input", input.to_str().unwrap(), "--output", output.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&output).unwrap(), "some words\n");
    assert!(out.contains("Standard input is /") && !out.contains("some words"), "{out}");
    compare(&["--input", "null", "--output", output.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&output).unwrap(), "");
    let out = compare(&["--input", input.to_str().unwrap(), "--output", "inherit"]);
    assert!(out.contains("some words"), "{out}");
    assert!(compare(&["--output", "pipe"]).contains("is read and discarded"));
    // The program sees a pipe.
    let see = ["compare", "-n", "1", "--output", "pipe", "sh", "-c", "test -p /dev/stdout"];
    succeed(scratch.furwock(&see));
    let missing =
        scratch.furwock(&["compare", "--input", "/no/such/file", "cat"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(missing.err().contains("--input: cannot read /no/such/file"), "{}", missing.err());
}

#[test]
fn a_shell_runs_a_line() {
    let scratch = Scratch::new("a_shell_runs_a_line");
    let log = scratch.path("log");
    let line = format!("echo one | sed s/one/two/ >> {}", log.display());
    let out = succeed(scratch.furwock(&["compare", "-n", "1", "--shell", "sh", &line])).out();
    assert!(logged(&scratch).iter().all(|line| line == "two"), "{out}");
    let status = |arguments: &[&str]| scratch.furwock(arguments).output().unwrap();
    let two = status(&["compare", "--shell", "sh", "echo", "two"]);
    assert_eq!(two.status.code(), Some(2), "{}", two.err());
    let line = status(&["compare", "sleep 0.1"]);
    assert_eq!(line.status.code(), Some(127));
    assert!(line.err().contains("--shell sh"), "{}", line.err());
}

#[test]
fn failures_are_counted_on_request() {
    let scratch = Scratch::new("failures_are_counted_on_request");
    let file = scratch.path("out.json");
    let compare = |script: &str| {
        let json = ["--json", file.to_str().unwrap()];
        let command = [&["compare", "-n", "2", "-i"], &json[..], &["sh", "-c", script]].concat();
        scratch.furwock(&command).output().unwrap()
    };
    let same = compare("exit 3");
    assert_eq!(same.status.code(), Some(0), "{}", same.err());
    assert!(same.out().contains("Ignored: runs ended with status 3 (2 times)"), "{}", same.out());
    assert_eq!(json(&file)["statuses"]["glibc"], serde_json::json!({"3": 2}));
    let different = compare("test -z \"$LD_PRELOAD\"");
    assert_eq!(different.status.code(), Some(0), "{}", different.err());
    assert!(different.out().contains("THE RUNS ENDED DIFFERENTLY"), "{}", different.out());
    // A signal is no status.
    assert_eq!(compare("kill -ABRT $$").status.code(), Some(1));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_first_run() {
    let scratch = Scratch::new("a_file_that_cannot_be_written");
    let mark = format!("echo run >> {}", scratch.path("log").display());
    for option in ["--json", "--csv", "--markdown", "--report", "--output"] {
        let command = ["compare", "-n", "1", option, "/no/such/folder/x", "sh", "-c", &mark];
        let run = scratch.furwock(&command).output().unwrap();
        assert_eq!(run.status.code(), Some(1), "{option}");
        assert!(run.err().contains("cannot write /no/such/folder/x"), "{}", run.err());
        assert_eq!((run.out(), logged(&scratch)), (String::new(), Vec::new()), "{option}");
    }
}

#[test]
fn short_runs_are_repeated_more_often() {
    let scratch = Scratch::new("short_runs_are_repeated_more_often");
    let file = scratch.path("out.json");
    let count = |options: &[&str]| {
        let json_to = ["--json", file.to_str().unwrap()];
        succeed(scratch.furwock(&[&["compare"], &json_to[..], options, &["true"]].concat()));
        json(&file)["pairs"].as_array().unwrap().len()
    };
    assert_eq!(count(&["-m", "2", "-M", "3"]), 3);
    assert_eq!(count(&["-M", "1"]), 1);
    assert_eq!(count(&["-r", "2"]), 2);
}

/// Every line of tables and sentences; only a word that is longer than a line is broken.
#[test]
fn lines_are_as_wide_as_asked_for() {
    let scratch = Scratch::new("lines_are_as_wide_as_asked_for");
    let program = ["compare", "-n", "1", "-L", "seconds", "0,0.001", "sleep", "{seconds}"];
    let workload = ["compare", "-n", "1", "--quick", "--workload", "queue"];
    let short = ["--rounds", "1", "--seconds", "0.02", "--threads", "2", "--sections", "1/1"];
    let bench = [&["bench", "mutex"], &short[..]].concat();
    for width in ["60", "80", "200"] {
        for arguments in [&program[..], &workload, &bench] {
            let mut command = scratch.furwock(arguments);
            command.env("COLUMNS", width);
            let out = succeed(command).out();
            let most: usize = width.parse().unwrap();
            assert!(out.lines().all(|line| line.chars().count() <= most), "{width}: {out}");
            // Cells are whole.
            assert!(out.contains("too few pairs") || arguments[0] == "bench", "{width}: {out}");
        }
    }
    // No terminal, and nothing said: 80.
    let mut command = scratch.furwock(&program);
    command.env_remove("COLUMNS");
    let out = succeed(command).out();
    let widest = out.lines().map(|line| line.chars().count()).max().unwrap();
    assert!((61..=80).contains(&widest), "{out}");
}

#[test]
fn lost_wakeups_are_shown_of_furwocks_library_only() {
    let scratch = Scratch::new("lost_wakeups_are_shown");
    // The stub serves nothing, so that both sides would be glibc's.
    let run = scratch.furwock(&["compare", "--lost-wakeup"]).output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", run.out());
    assert!(run.err().contains("furwock's locks came from"), "{}", run.err());
    assert!(run.out().contains("glibc ") && run.out().contains(" seconds and "), "{}", run.out());
    assert!(run.out().trim_end().ends_with("didn't come to its end."), "{}", run.out());
}
