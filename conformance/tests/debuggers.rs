//! What a debugger, and the program's own stderr, show of threads that wait beneath furwock.

use furwock_conformance::{Artifact, Side, scratch};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The program's functions that wait; how many frames glibc 2.36 has below each, with debug
/// information for glibc (docs/tools.md); and what stands for them all with the script.
const CALLERS: [(&str, usize, &str); 12] = [
    ("barrier_wait", 3, "pthread_barrier_wait (barrier=0x <barrier>)"),
    ("cond_timedwait", 5, "pthread_cond_timedwait (cond=0x <condvar>, mutex=0x <released>)"),
    ("cond_wait", 5, "pthread_cond_wait (cond=0x <condvar>, mutex=0x <released>)"),
    ("mutex_lock", 4, "pthread_mutex_lock (mutex=0x <accounts>)"),
    ("mutex_lock_recursive", 4, "pthread_mutex_lock (mutex=0x <recursive>)"),
    ("mutex_timedlock", 5, "pthread_mutex_timedlock (mutex=0x <accounts>)"),
    ("rwlock_rdlock", 4, "pthread_rwlock_rdlock (rwlock=0x <written_lock>)"),
    ("rwlock_timedrdlock", 4, "pthread_rwlock_timedrdlock (rwlock=0x <written_lock>)"),
    ("rwlock_timedwrlock", 4, "pthread_rwlock_timedwrlock (rwlock=0x <read_lock>)"),
    ("rwlock_wrlock", 4, "pthread_rwlock_wrlock (rwlock=0x <read_lock>)"),
    ("sem_timedwait", 6, "sem_timedwait (sem=0x <semaphore>)"),
    ("sem_wait", 6, "sem_wait (sem=0x <semaphore>)"),
];

/// A program whose threads wait, until it is dropped.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.kill().expect("it is a child");
        self.0.wait().expect("it is a child");
    }
}

impl Waiting {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it can be started");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped above");
        BufReader::new(stdout).read_line(&mut line).expect("it says that it is ready");
        assert_eq!(line, format!("{} ready\n", child.id()));
        Self(child)
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

fn callers(name: &str) -> PathBuf {
    let folder = scratch(&format!("debuggers-{name}"));
    Artifact::program("tools/callers.c", &folder, "callers").with(&["-g"]).build()
}

fn has_gdb() -> bool {
    let has = Command::new("gdb").args(["-q", "-batch", "-ex", "python 1"]).output();
    let has = has.is_ok_and(|run| run.status.success() && run.stderr.is_empty());
    if !has {
        println!("skipped: no gdb with Python");
    }
    has
}

/// What gdb prints for `commands`, or `None` if it may not attach.
fn gdb(arguments: &[&str], commands: &[&str]) -> Option<String> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-nx", "-batch", "-iex", "set debuginfod enabled off"]);
    gdb.args(["-iex", "set width 0"]).args(arguments);
    commands.iter().for_each(|command| _ = gdb.args(["-ex", command]));
    let run = gdb.output().expect("it has just been there");
    let (said, errors) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    if errors.contains("not permitted") {
        println!("skipped: gdb may not attach here: {errors}");
        return None;
    }
    assert!(!errors.contains("Error") && !errors.contains("Traceback"), "{errors}\n{said}");
    Some(said.into_owned())
}

fn script() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/gdb/furwock.py");
    format!("source {}", script.display())
}

/// The frames below a caller: how many there are, and the lines that gdb prints of them.
type Below = (usize, Vec<String>);

/// For each caller, the frames below it.
fn frames(backtraces: &str) -> BTreeMap<String, Below> {
    let mut frames = BTreeMap::new();
    let mut below = Vec::new();
    for line in backtraces.lines() {
        let Some((number, rest)) = line.strip_prefix('#').and_then(|rest| rest.split_once(' '))
        else {
            below.clear();
            continue;
        };
        if let Some((_, caller)) = rest.split_once("caller_of_") {
            let caller = caller.split([' ', '(']).next().unwrap_or_default();
            let number = number.parse().expect("a number");
            frames.insert(caller.to_owned(), (number, std::mem::take(&mut below)));
        }
        below.push(rest.to_owned());
    }
    frames
}

fn check_callers(frames: &BTreeMap<String, Below>, said: &str) {
    let expected: Vec<_> = CALLERS.iter().map(|(caller, ..)| *caller).collect();
    assert_eq!(frames.keys().collect::<Vec<_>>(), expected, "{said}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "unoptimised code has more frames")]
fn the_caller_is_as_few_frames_up_as_with_glibc() {
    if !has_gdb() {
        return;
    }
    let program = callers("frames");
    let waiting = Waiting::start(Side::Furwock.command(&program));
    let Some(said) = gdb(&["-p", &waiting.id()], &["thread apply all bt"]) else { return };
    let frames = frames(&said);
    check_callers(&frames, &said);
    for (caller, glibcs, call) in CALLERS {
        let (number, below) = &frames[caller];
        println!("{caller}: {number}, glibc {glibcs}");
        assert!(*number <= glibcs, "{caller}: {number} frames, glibc {glibcs}\n{said}");
        let function = call.split(' ').next().unwrap_or_default();
        assert!(below.last().is_some_and(|line| line.contains(function)), "{caller}: {said}");
    }
}

/// A line of a backtrace without addresses, and without the file.
fn plain(line: &str) -> String {
    let line = line.trim_start();
    let line = line.split_once(" in ").map_or(line, |(_, rest)| rest);
    let line = line.split_once(" at ").map_or(line, |(call, _)| call);
    let mut parts = line.split("0x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += "0x";
        plain += part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
    }
    plain
}

#[test]
fn with_the_script_a_wait_is_one_frame_with_its_arguments() {
    if !has_gdb() {
        return;
    }
    let program = callers("arguments");
    let waiting = Waiting::start(Side::Furwock.command(&program));
    let core = program.with_file_name("core");
    let dump = format!("generate-core-file {}", core.display());
    let commands = [&*script(), "thread apply all bt", &dump];
    let Some(live) = gdb(&["-p", &waiting.id()], &commands) else { return };
    drop(waiting);
    let arguments = [program.to_str().expect("UTF-8"), core.to_str().expect("UTF-8")];
    let dead = gdb(&arguments, &[&script(), "thread apply all bt"]).expect("it is a file");
    for said in [&live, &dead] {
        let frames = frames(said);
        check_callers(&frames, said);
        for (caller, _, call) in CALLERS {
            let below: Vec<_> = frames[caller].1.iter().map(|line| plain(line)).collect();
            assert_eq!(below, [call], "{said}");
        }
    }
    fs::remove_file(core).expect("gdb wrote it");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "unoptimised code has more frames")]
fn with_the_script_an_argument_has_the_name_that_the_program_gave() {
    if !has_gdb() {
        return;
    }
    let program = callers("named");
    let mut command = Side::Furwock.command(&program);
    command.arg("deadlock");
    let waiting = Waiting::start(command);
    let commands = [&*script(), "thread apply all bt", "thread apply all bt -no-filters"];
    let Some(said) = gdb(&["-p", &waiting.id()], &commands) else { return };
    for call in [
        r#"pthread_mutex_lock (mutex=0x <accounts>, name=0x "the accounts")"#,
        r#"pthread_mutex_lock (mutex=0x <journal>, name=0x "the journal")"#,
    ] {
        let shown = said.lines().filter(|line| plain(line) == call).count();
        assert_eq!(shown, 1, "{call}: {said}");
    }
    assert_eq!(said.matches("::open_for").count(), 2, "{said}");
}

/// The rows of the table that `furwock-locks` prints, without its head.
fn table(said: &str) -> Vec<Vec<String>> {
    let lines = said.lines().skip_while(|line| !line.starts_with("waiting thread")).skip(1);
    let rows = lines.map(|line| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    });
    rows.take_while(|row| row.len() == 4).collect()
}

fn check_deadlock(said: &str) {
    let table = table(said);
    assert_eq!(table.len(), 2, "{said}");
    for (row, (waits, lock, holds)) in
        table.iter().zip([("alice", "the journal 0x", "bob"), ("bob", "the accounts 0x", "alice")])
    {
        assert!(row[0].contains(waits) && row[1] == "mutex", "{said}");
        assert!(row[2].starts_with(lock) && row[3].contains(holds), "{said}");
    }
}

#[test]
fn furwock_locks_shows_a_process_and_its_core() {
    if !has_gdb() {
        return;
    }
    let program = callers("locks");
    let core = program.with_file_name("core");
    let mut command = Side::Furwock.command(&program);
    command.arg("deadlock");
    let waiting = Waiting::start(command);
    let dump = format!("generate-core-file {}", core.display());
    let commands = [&*script(), "furwock-locks", &dump];
    let Some(live) = gdb(&["-p", &waiting.id()], &commands) else { return };
    check_deadlock(&live);
    drop(waiting);
    let arguments = [program.to_str().expect("UTF-8"), core.to_str().expect("UTF-8")];
    let said = gdb(&arguments, &[&script(), "furwock-locks"]).expect("it is a file");
    // A core has no names of threads.
    let rows = table(&said);
    assert_eq!(rows.len(), 2, "{said}");
    let locks = [&rows[0][2], &rows[1][2]];
    for name in ["the journal 0x", "the accounts 0x"] {
        assert!(locks.iter().any(|lock| lock.starts_with(name)), "{said}");
    }
    assert!(rows[0][3] == rows[1][0] && rows[1][3] == rows[0][0], "{said}");
    fs::remove_file(core).expect("gdb wrote it");
}

#[test]
fn furwock_locks_knows_each_kind_of_wait() {
    if !has_gdb() {
        return;
    }
    let program = callers("kinds");
    let waiting = Waiting::start(Side::Furwock.command(&program));
    let commands = [&*script(), "furwock-locks", "echo all\\n", "furwock-locks -a"];
    let Some(said) = gdb(&["-p", &waiting.id()], &commands) else { return };
    let (locks, all) = said.split_once("\nall\n").expect("echoed");
    let count = |said: &str, kind: &str| table(said).iter().filter(|row| row[1] == kind).count();
    assert_eq!(["mutex", "rwlock", "condvar"].map(|kind| count(locks, kind)), [3, 4, 0], "{said}");
    let kinds = ["mutex", "rwlock", "condvar", "semaphore"];
    assert_eq!(kinds.map(|kind| count(all, kind)), [3, 4, 2, 2], "{said}");
    // The first thread holds what it has locked for writing; a counted reader isn't named.
    assert!(locks.contains("<accounts") && locks.contains("1 reader, not named"), "{said}");
    assert!(all.contains("(with mutex 0x"), "{said}");
}

#[test]
fn furwock_locks_says_that_a_process_has_no_furwock() {
    if !has_gdb() {
        return;
    }
    let program = callers("none");
    let waiting = Waiting::start(Side::Glibc.command(&program));
    let Some(said) = gdb(&["-p", &waiting.id()], &[&script(), "furwock-locks"]) else { return };
    assert!(said.contains("No furwock in this process"), "{said}");
}

/// What the deadlock says with this limit, once it has said `enough` lines, and a second later.
fn warned(name: &str, limit: &str, enough: usize) -> String {
    let program = callers(name);
    let said = program.with_file_name("stderr");
    let mut command = Side::Furwock.command(&program);
    command.arg("deadlock").env("FURWOCK_WARN_AFTER", limit);
    command.stderr(fs::File::create(&said).expect("the folder is the test's"));
    let _waiting = Waiting::start(command);
    let (start, read) = (Instant::now(), || fs::read_to_string(&said).expect("text"));
    while read().lines().count() < enough && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_secs(1));
    read()
}

#[test]
fn a_long_wait_is_reported_once_with_its_chain() {
    let said = warned("warned", "200ms", 4);
    assert_eq!(said.lines().count(), 4, "{said}");
    for (waits, lock, holds, other) in [
        ("alice", "the journal", "bob", "the accounts"),
        ("bob", "the accounts", "alice", "the journal"),
    ] {
        let mut lines =
            said.lines().skip_while(|line| !line.contains(&format!("({waits}) has waited 0.")));
        let first = lines.next().unwrap_or_else(|| panic!("{waits} is missing: {said}"));
        assert!(first.starts_with("furwock: thread "), "{said}");
        assert!(first.contains(&format!(" s for mutex {lock} 0x")), "{said}");
        assert!(first.contains("held by thread ") && first.ends_with(&format!("({holds})")));
        let second = lines.next().unwrap_or_default();
        assert!(second.starts_with("furwock:   thread "), "{said}");
        assert!(second.contains(&format!("({holds}) waits for mutex {other} 0x")), "{said}");
        assert!(second.ends_with(&format!("({waits}): they wait for each other")), "{said}");
    }
}

#[test]
fn no_limit_no_report_and_a_bad_one_is_named() {
    let folder = scratch("debuggers-limits");
    let program = Artifact::program("tools/watched.c", &folder, "watched").with(&["-g"]).build();
    for (value, says) in [
        (Some("soon"), true),
        (Some("0s"), true),
        (Some("-3"), true),
        (Some("10 s"), true),
        (Some("99999999999999999999"), true),
        (Some("10"), false),
        (Some("10s"), false),
        (Some("5m"), false),
        (Some(""), false),
        (None, false),
    ] {
        let mut command = Side::Furwock.command(&program);
        value.map(|value| command.env("FURWOCK_WARN_AFTER", value));
        let run = command.output().expect("it can be started");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{value:?}: {said}");
        let has_said = said.starts_with("furwock: FURWOCK_WARN_AFTER isn't a time");
        assert_eq!(
            (has_said, said.lines().count()),
            (says, usize::from(says)),
            "{value:?}: {said}"
        );
    }
}
