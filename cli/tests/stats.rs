//! `furwock run --stats`, `stats`, `report` and `top`: planted contention is found and ranked
//! first, whatever the program's end; records that make no sense are refused in one line.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::sample::{self, MS, Sample};
use common::{FURWOCK, Scratch, Text, furwock_with};
use serde_json::Value;

const CONTENDED: &str = include_str!("stats/contended.c");
const FAILED: i32 = 1;
/// Far more than anything here takes, on a machine with other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

fn scratch() -> &'static Scratch {
    static SCRATCH: OnceLock<Scratch> = OnceLock::new();
    SCRATCH.get_or_init(|| {
        let scratch = Scratch::new("stats");
        assert!(scratch.compile(CONTENDED, "contended", &["-g", "-O1", "-pthread"]));
        scratch
    })
}

/// The libraries that `cargo build --release` puts beside the command.
fn preload() -> PathBuf {
    let library = Path::new(FURWOCK).with_file_name("libfurwock_preload.so");
    let recording = Path::new(FURWOCK).with_file_name("libfurwock_preload_recording.so");
    for library in [&library, &recording] {
        assert!(library.exists(), "`cargo build --release` makes {}", library.display());
    }
    library
}

fn furwock(arguments: &[&str]) -> Command {
    furwock_with(&preload(), arguments)
}

/// Runs the program, recorded in `file`.
fn recorded(file: &str, words: &[&str]) -> (Output, String) {
    let path = scratch().path(file);
    let option = format!("--stats={}", path.display());
    let mut run = furwock(&["run", &option, "--"]);
    run.arg(scratch().path("contended")).args(words);
    (run.output().unwrap(), path.display().to_string())
}

fn stats(source: &str) -> Value {
    let output = furwock(&["stats", "--json", source]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output.err());
    serde_json::from_str(&output.out()).unwrap()
}

fn is_narrow(text: &str) -> bool {
    text.lines().all(|line| line.chars().count() <= 80)
}

/// The planted lock comes first, and the one that held it longest is named.
fn assert_found(document: &Value) {
    let worst = &document["processes"][0]["locks"][0];
    assert_eq!(
        (&worst["name"], &worst["kind"]),
        (&"cache".into(), &"mutex".into()),
        "{document:#}"
    );
    let (waits, sleeps) = (worst["contended"].as_u64(), worst["sleeps"].as_u64());
    assert!(waits > Some(20) && sleeps > Some(5), "{worst:#}");
    assert!(worst["wait"]["total_s"].as_f64() > Some(0.02), "{worst:#}");
    // The longest may be any thread's that lost its processor; the most is the planted one's.
    let text = format!("{:#}", worst["holds"][0]["stack"]);
    assert!(text.contains("\"evict\""), "{worst:#}");
    let names: Vec<&str> = document["processes"][0]["locks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|lock| lock["name"].as_str())
        .collect();
    assert!(!names.contains(&"quiet"), "{names:?}");
}

#[test]
fn what_holders_do_while_others_wait_is_said() {
    for (how, does) in [("status", "sleeping"), ("poll", "waiting for input")] {
        // On a busy machine, threads that could run wait for a processor, as does the one that
        // looks at them.
        let mut tries = 0;
        let run = loop {
            let (run, path) = recorded(&format!("holders-{how}.record"), &[how, "180"]);
            let document = stats(&path);
            let did = &document["processes"][0]["locks"][0]["holders_did"];
            let looks: u64 = did.as_object().unwrap().values().flat_map(Value::as_u64).sum();
            let its = did[does].as_u64().unwrap_or(0);
            if its >= 5 && its * 10 >= looks {
                break run;
            }
            tries += 1;
            assert!(tries < 4, "{how}: {did:#}");
        };
        let words = run.err().split_whitespace().collect::<Vec<_>>().join(" ");
        let says = format!("while others waited, its holders were {does} (");
        let other = format!(" or {does} (");
        assert!(words.contains(&says) || words.contains(&other), "{how}: {words}");
    }
}

#[test]
fn the_table_shows_the_worst_lock_first_and_the_condvar_apart() {
    let (run, path) = recorded("table.record", &["status"]);
    assert_eq!((run.status.code(), run.out()), (Some(42), "done\n".to_owned()));
    let table = run.err();
    assert!(is_narrow(&table), "{table}");
    let rows: Vec<&str> = table.lines().skip_while(|line| !line.starts_with("lock ")).collect();
    assert!(rows[1].starts_with("cache ") && rows[1].contains(" mutex "), "{table}");
    let (_, events) = table.split_once("Waits for events").expect(&table);
    assert!(events.contains("opened") && events.contains("condvar"), "{table}");
    let (_, details) = table.split_once("\nmutex cache").expect(&table);
    // The longest may be any thread's that lost its processor: `assert_found` has the planted one.
    let (_, longest) = details.split_once("longest hold: ").expect(&table);
    assert!(longest.contains("  contended.c:"), "{table}");
    assert!(table.contains("\nIn all: "), "{table}");
    assert_found(&stats(&path));
}

#[test]
fn without_a_file_none_is_left() {
    let mut run = furwock(&["run", "--stats", "--"]);
    let child = run.arg(scratch().path("contended")).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.err().contains("\ncache "), "{}", output.err());
    let left = Path::new("/dev/shm").join(format!("furwock-{pid}.record"));
    assert!(!left.exists());
}

#[test]
fn a_program_that_leaves_at_once_has_ended() {
    for how in ["_exit", "quick_exit"] {
        let (run, path) = recorded(&format!("{how}.record"), &[how]);
        assert_eq!(run.status.code(), Some(0));
        assert!(run.err().starts_with("furwock: contended (") && run.err().contains(") ran for "));
        assert_eq!(stats(&path)["processes"][0]["state"], "ended");
    }
}

/// On a terminal of that width.
fn on_a_terminal(columns: u16, command: &mut Command) -> String {
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut ours, mut theirs) = (0, 0);
    let no_name = std::ptr::null_mut();
    // SAFETY: two descriptors of this function's own.
    let (mut ours, theirs) = unsafe {
        let none = std::ptr::null();
        assert_eq!(libc::openpty(&mut ours, &mut theirs, no_name, none, &size), 0);
        (fs::File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    };
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs).env_remove("COLUMNS");
    let mut child = command.spawn().unwrap();
    // The terminal ends with its last user.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut text = Vec::new();
    let _ = ours.read_to_end(&mut text);
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace('\r', "")
}

#[test]
fn the_table_fits_the_terminal() {
    let (_, path) = recorded("narrow.record", &[]);
    for (columns, width) in [(40, 40), (60, 60), (20, 40)] {
        let stats = on_a_terminal(columns, &mut furwock(&["stats", &path]));
        let mut run = furwock(&["run", "--stats", "--"]);
        run.arg(scratch().path("contended")).arg("").arg("12");
        for text in [stats, on_a_terminal(columns, &mut run)] {
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width) && widest > Some(width - 8), "{columns}: {text}");
            let titles = text.lines().find(|line| line.starts_with("lock ")).expect(&text);
            assert!(titles.ends_with("longest") && titles.contains("total"), "{text}");
        }
    }
}

#[test]
fn a_program_that_was_killed_has_a_report() {
    let (run, path) = recorded("killed.record", &["kill"]);
    assert_eq!(run.status.signal(), Some(libc::SIGKILL));
    assert!(run.err().contains(" and was killed, with "), "{}", run.err());
    assert_found(&stats(&path));
    let report = furwock(&["report", &path]).output().unwrap();
    assert_eq!(report.status.code(), Some(0), "{}", report.err());
    assert!(report.out().contains(" 1. cache: "), "{}", report.out());
    assert!(is_narrow(&report.out()), "{}", report.out());
}

#[test]
fn each_process_with_contention_has_a_table() {
    let (run, path) = recorded("fork.record", &["fork"]);
    let table = run.err();
    assert_eq!(table.matches("\nlock ").count(), 2, "{table}");
    let document = stats(&path);
    assert_eq!(document["processes"].as_array().unwrap().len(), 2);
    assert_found(&document);
}

#[test]
fn operations_on_a_lock_that_was_destroyed_are_its_own() {
    let (run, path) = recorded("destroyed.record", &["destroyed"]);
    assert_eq!(run.status.code(), Some(0));
    let worst = &stats(&path)["processes"][0]["locks"][0];
    assert_eq!(worst["name"], "cache");
    // Of three readers at least 60 each, and of the evictor 10.
    let operations = run.out().lines().next().unwrap().parse::<u64>().unwrap();
    assert!(operations >= 190 && worst["operations"] == operations, "{operations}: {worst:#}");
}

#[test]
fn a_process_that_runs_on_is_said_to() {
    let (run, _) = recorded("left.record", &["leave", "120"]);
    let says = run.err().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(says.contains("1 process still runs; `furwock report` will show"), "{says}");
    let mut run = furwock(&["run", "--stats", "--"]);
    let run = run.arg(scratch().path("contended")).args(["leave", "120"]).output().unwrap();
    assert!(run.err().contains("1 process still runs; nothing more of it"), "{}", run.err());
}

#[test]
fn a_table_that_finds_no_room_or_reader_changes_no_status() {
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let unread = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    for stderr in [Stdio::from(full()), Stdio::from(unread())] {
        let mut run = furwock(&["run", "--stats", "--"]);
        let run = run.arg(scratch().path("contended")).arg("status").stdout(Stdio::null());
        let mut child = run.stderr(stderr).spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(42));
        let left = Path::new("/dev/shm").join(format!("furwock-{}.record", child.id()));
        assert!(!left.exists());
    }
    let missing = furwock(&["run", "--stats", "--", "/nonexistent"]).stderr(full()).status();
    assert_eq!(missing.unwrap().code(), Some(127));
}

/// The program finds its own SIGPIPE as furwock did, though furwock ignores it meanwhile.
#[test]
fn the_program_is_ended_by_a_broken_pipe_as_ever() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut run = furwock(&["run", "--stats", "--", "cat", "/proc/self/status"]);
    // SAFETY: the call may be made between fork and exec; it undoes what Rust's start-up did.
    unsafe {
        run.pre_exec(|| {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            Ok(())
        })
    };
    let status = run.stdout(writer).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGPIPE));
}

#[test]
fn a_report_that_a_full_disk_loses_has_failed() {
    let path = written("full", &sample::typical(""));
    for words in [&["stats"][..], &["stats", "--json"], &["report"], &["report", "--html", "-"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = furwock(words).arg(&path).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(FAILED), "{words:?}");
        assert!(output.err().starts_with("furwock: standard output: No space"), "{}", output.err());
    }
}

/// A program that runs until the test is done with it.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(options: &[&str], words: &[&str]) -> Self {
        let mut run = furwock(&["run"]);
        run.args(options).arg("--").arg(scratch().path("contended")).args(words);
        run.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = run.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, lines };
        assert_eq!(running.line(), "ready\n");
        running
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn send(&self, signal: i32) {
        // SAFETY: to the test's own child, which hasn't been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    fn queue(&self, signal: i32, value: i32) {
        let value =
            libc::sigval { sival_ptr: std::ptr::without_provenance_mut(value as u32 as usize) };
        // SAFETY: to the test's own child, which hasn't been waited for.
        assert_eq!(unsafe { libc::sigqueue(self.child.id() as i32, signal, value) }, 0);
    }

    /// The program's own process.
    fn program(&self) -> String {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = fs::read_to_string(children).unwrap();
        children.split_whitespace().next().unwrap().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: the group is this test's own.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

#[test]
fn signals_reach_the_program_and_its_end_is_furwocks() {
    let mut running = Running::start(&["--stats"], &["signals"]);
    for signal in [libc::SIGUSR1, libc::SIGINT, libc::SIGALRM, libc::SIGABRT, libc::SIGXCPU] {
        running.send(signal);
        assert_eq!(running.line(), format!("got {signal}\n"));
    }
    // Each of those that queue up, with its value, as if it had been sent to the program.
    let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
    let own = std::process::id();
    for (signal, value) in [(first, 17), (first, 18), (first + 3, -1), (last, 19)] {
        running.queue(signal, value);
        let says =
            format!("got {} with {value} by {}, from {own}\n", signal - first, libc::SI_QUEUE);
        assert_eq!(running.line(), says);
    }
    running.send(first);
    let says = format!("got 0 with 0 by {}, from {}\n", libc::SI_USER, running.child.id());
    assert_eq!(running.line(), says);
    running.send(libc::SIGTERM);
    assert_eq!(running.line(), format!("got {}\n", libc::SIGTERM));
    assert_eq!(running.child.wait().unwrap().code(), Some(7));
}

#[test]
fn a_running_process_shows_its_figures() {
    let running = Running::start(&["--stats"], &["long", "100000"]);
    let pid = running.program();
    // Until there has been contention.
    let end = Instant::now() + PATIENCE;
    let document = loop {
        let document = stats(&pid);
        let waits = document["processes"][0]["locks"][0]["contended"].as_u64();
        if waits > Some(20) {
            break document;
        }
        assert!(Instant::now() < end, "{document:#}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(document["processes"][0]["state"], "runs");
    assert_eq!(document["processes"][0]["locks"][0]["name"], "cache");
    let top = furwock(&["top", "--lines", "-n", "2", "-i", "0.3", &pid]).output().unwrap();
    assert_eq!(top.status.code(), Some(0), "{}", top.err());
    assert!(is_narrow(&top.out()), "{}", top.out());
    let first = top.out().lines().nth(2).unwrap().to_owned();
    assert!(
        first.starts_with("  cache  ") && top.out().matches("contended (").count() == 2,
        "{}",
        top.out()
    );
}

#[test]
fn sigusr2_asks_for_the_table() {
    let mut running = Running::start(&["--stats"], &["signals"]);
    running.send(libc::SIGUSR2);
    let mut text = [0; 17];
    running.child.stderr.as_mut().unwrap().read_exact(&mut text).unwrap();
    assert_eq!(std::str::from_utf8(&text).unwrap(), "furwock: contende");
    running.send(libc::SIGTERM);
    assert_eq!(running.child.wait().unwrap().code(), Some(7));
}

#[test]
fn a_process_that_isnt_recorded_is_told_how_to_be() {
    let mut sleep = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = sleep.id().to_string();
    for command in ["stats", "top"] {
        let output = furwock(&[command, &pid]).output().unwrap();
        assert_eq!(output.status.code(), Some(FAILED));
        assert_eq!(output.err().lines().count(), 1);
        assert!(output.err().contains("start it with `furwock run --stats -- PROGRAM`"));
    }
    sleep.kill().unwrap();
    sleep.wait().unwrap();
}

#[test]
fn a_file_that_is_no_record_isnt_overwritten() {
    let path = scratch().path("precious");
    fs::write(&path, "precious").unwrap();
    let (run, _) = recorded("precious", &[]);
    assert_eq!((run.status.code(), run.out()), (Some(125), String::new()));
    assert!(run.err().contains("precious: exists, and is no record"), "{}", run.err());
    assert_eq!(fs::read_to_string(path).unwrap(), "precious");
}

/// A record that no program wrote.
fn written(name: &str, bytes: &[u8]) -> String {
    let path = scratch().path(name);
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

fn refused(command: &str, path: &str, says: &str) {
    let output = furwock(&[command, path]).output().unwrap();
    let error = output.err();
    assert_eq!((output.status.code(), output.out()), (Some(FAILED), String::new()), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("furwock: ") && error.contains(says), "{error}");
}

#[test]
fn what_is_no_record_is_refused_in_one_line() {
    let whole = sample::typical("");
    let mut newer = whole.clone();
    newer[16] = 77;
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "empty: nothing has been recorded in it"),
        ("text", b"#!/bin/sh\n", "not a record of furwock"),
        ("cut", &whole[..1000], "cut off after 1000 bytes"),
        ("newer", &newer, "a record of version 77"),
        ("unused", &Sample::new("", 4).bytes, "no process has recorded anything"),
    ];
    for (name, bytes, says) in cases {
        let path = written(name, bytes);
        for command in ["report", "stats"] {
            refused(command, &path, says);
        }
    }
    refused("report", "/nonexistent", "no such file");
    refused("stats", "/dev/null", "not a file");
}

#[test]
fn what_is_cut_off_is_shown_as_far_as_it_goes() {
    let mut sample = Sample::new("", 4);
    sample.process(1, &["one"], MS);
    sample.process(2, &["two"], MS);
    let length = sample.bytes.len() - sample::part_size();
    let path = written("halved", &sample.bytes[..length]);
    let output = furwock(&["report", &path]).output().unwrap();
    assert_eq!(output.status.code(), Some(FAILED));
    assert!(output.out().starts_with("one (1) ran for 1.00 ms"), "{}", output.out());
    assert!(output.err().ends_with("cut off: 1 of 2 processes are missing\n"), "{}", output.err());
}

#[test]
fn waits_that_found_no_room_arent_denied() {
    let mut sample = Sample::new("", 4);
    sample.process(1, &["full"], MS).lost(1, 3);
    let path = written("lossy", &sample.bytes);
    let output = furwock(&["report", &path]).output().unwrap();
    assert!(output.out().contains("No thread is known to have waited for a lock."));
    assert!(output.out().contains("no room for 3 threads"), "{}", output.out());
}

#[test]
fn the_report_is_sentences_and_follows_chains() {
    let path = written("typical", &sample::typical(""));
    let output = furwock(&["report", &path]).output().unwrap();
    let text = output.out();
    assert!(is_narrow(&text), "{text}");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "Threads waited 1.65 s for locks, 20.6 % of their time; 99.4 % of that for mutex cache.mutex.",
        "1. cache.mutex: 20.5 % of thread time waits here (1.64 s in 147k waits, the longest 12.0 \
         ms); held longest, for 8.00 ms, by worker (4713)",
        "worker (4712) waited 12.0 ms for cache.mutex, held by worker (4713), which waited 4.00 ms \
         of it for",
        "1.50 s for condvars and the like; 12 calls left to glibc",
    ] {
        assert!(plain.contains(says), "{says}: {plain}");
    }
}

#[test]
fn exports_are_what_other_tools_read() {
    let path = written("exported", &sample::typical(""));
    let save = |option: &str, name: &str| {
        let to = scratch().path(name);
        let output = furwock(&["report", option, to.to_str().unwrap(), &path]).output().unwrap();
        assert_eq!((output.status.code(), output.out()), (Some(0), String::new()));
        fs::read_to_string(to).unwrap()
    };
    let folded = save("--folded", "folded");
    let mut total = 0;
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        assert!(stack.starts_with("bank (4711);") && stack.ends_with(']'), "{line}");
        total += count.parse::<u64>().unwrap();
    }
    assert_eq!(total, 1_650_000, "{folded}");

    let trace: Value = serde_json::from_str(&save("--trace", "trace")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let waits: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!((waits.len(), events.len()), (42, 42 + 1 + 4));
    assert_eq!((&waits[1]["ts"], &waits[1]["dur"]), (&200_000.0.into(), &12_000.0.into()));
    assert_eq!(waits[1]["args"]["held by"], "worker (4713)");

    let page = save("--html", "page.html");
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
    let headings: Vec<&str> = document
        .descendants()
        .filter(|node| node.has_tag_name("h2"))
        .filter_map(|node| node.text())
        .collect();
    for heading in
        ["Verdict", "Worst locks", "Timeline of waits", "Wait chains", "Flame graph of waiting"]
    {
        assert!(headings.contains(&heading), "{headings:?}");
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
}

/// A terminal of 24 lines: the side that a user sits at, and the side that a command writes to.
fn terminal(columns: u16) -> (fs::File, fs::File) {
    use std::os::fd::FromRawFd;
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut user, mut command) = (-1, -1);
    // SAFETY: opens two descriptors that nothing else owns.
    unsafe {
        let (name, settings) = (std::ptr::null_mut(), std::ptr::null());
        let made = libc::openpty(&mut user, &mut command, name, settings, &size);
        assert_eq!(made, 0);
        (fs::File::from_raw_fd(user), fs::File::from_raw_fd(command))
    }
}

/// `furwock top` at a terminal of its own.
struct Top {
    child: Child,
    user: fs::File,
    seen: Vec<u8>,
}

impl Top {
    fn start(pid: &str, columns: u16) -> Self {
        let (user, command) = terminal(columns);
        let mut top = furwock(&["top", "-i", "0.2", pid]);
        top.env("TERM", "xterm").stdin(command.try_clone().unwrap());
        top.stdout(command.try_clone().unwrap()).stderr(command);
        // SAFETY: the call may be made between fork and exec.
        unsafe {
            top.pre_exec(|| {
                if libc::setsid() < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
            })
        };
        let child = top.spawn().unwrap();
        Self { child, user, seen: Vec::new() }
    }

    /// Reads on until it has written this.
    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            let mut bytes = [0; 4096];
            let read = self.user.read(&mut bytes).unwrap_or(0);
            self.seen.extend(&bytes[..read]);
            let seen = String::from_utf8_lossy(&self.seen);
            assert!(read > 0 && Instant::now() < end, "no {text}: {seen}");
        }
    }
}

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

#[test]
fn top_draws_at_any_width_and_restores_the_terminal() {
    use std::io::Write;
    let running = Running::start(&["--stats"], &["long", "100000"]);
    let pid = running.program();
    for columns in [40, 80, 150] {
        let mut top = Top::start(&pid, columns);
        top.wait_for(ENTER);
        top.wait_for("cache");
        top.user.write_all(b"\r").unwrap();
        top.wait_for("Since");
        top.user.write_all(b"q").unwrap();
        top.wait_for(LEAVE);
        assert_eq!(top.child.wait().unwrap().code(), Some(0));
    }
    // A signal ends it as decently.
    let mut top = Top::start(&pid, 80);
    top.wait_for("cache");
    // SAFETY: to the test's own child, which hasn't been waited for.
    unsafe { libc::kill(top.child.id() as i32, libc::SIGTERM) };
    top.wait_for(LEAVE);
    assert_eq!(top.child.wait().unwrap().code(), Some(128 + libc::SIGTERM));
}

/// A shell's stop and go on: furwock stops with the program, and goes on with it.
#[test]
fn furwock_stops_and_continues_with_the_program() {
    let mut running = Running::start(&["--stats"], &["signals"]);
    let state = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().chars().next().unwrap()
    };
    let (own, program) = (running.child.id().to_string(), running.program());
    let reach = |wanted: char| {
        let end = Instant::now() + PATIENCE;
        while [state(&own), state(&program)].iter().any(|state| (*state == 'T') != (wanted == 'T'))
        {
            assert!(Instant::now() < end, "{} {}", state(&own), state(&program));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    running.send(libc::SIGTSTP);
    reach('T');
    running.send(libc::SIGCONT);
    reach('S');
    running.send(libc::SIGTERM);
    assert_eq!(running.line(), format!("got {}\n", libc::SIGTERM));
}
