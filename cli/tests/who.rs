//! `furwock who`: finds why programs hang, on glibc and on furwock; finds nothing in healthy ones;
//! and says in one line what it can't look at.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::{FURWOCK, Scratch, Text};
use serde_json::Value;

const HANGS: &str = include_str!("who/hangs.c");
const BUSY: &str = include_str!("who/busy.c");
const OTHERS: &str = include_str!("who/others.c");
const DEADLOCK: i32 = 3;
/// Far more than any look takes, on a machine with other things to do.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    Glibc,
    Furwock,
}

const BOTH: [On; 2] = [On::Glibc, On::Furwock];

/// The C programs, compiled once.
fn programs() -> &'static Scratch {
    static PROGRAMS: OnceLock<Scratch> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let scratch = Scratch::new("who");
        let flags = ["-g", "-O1", "-pthread"];
        assert!(scratch.compile(HANGS, "hangs", &flags) && scratch.compile(BUSY, "busy", &flags));
        assert!(scratch.compile(HANGS, "hangs-unoptimized", &["-g", "-O0", "-pthread"]));
        assert!(scratch.compile(HANGS, "hangs-stripped", &["-s", "-O2", "-pthread"]));
        assert!(scratch.compile(OTHERS, "others", &flags));
        assert!(scratch.compile(OTHERS, "others-go", &["-DGO", "-g", "-O1", "-pthread"]));
        assert!(scratch.compile(HANGS, "hangs-static", &["-g", "-O1", "-pthread", "-static-pie"]));
        scratch
    })
}

/// The library that `cargo build --release` puts beside the command.
fn preload() -> PathBuf {
    let library = Path::new(FURWOCK).with_file_name("libfurwock_preload.so");
    assert!(library.exists(), "`cargo build --release` makes {}", library.display());
    library
}

/// A program that runs until the test is done with it.
struct Running(Child);

impl Running {
    fn start(program: &str, name: &str, on: On) -> Self {
        let path = programs().path(program);
        let mut command = match on {
            On::Glibc => Command::new(path),
            On::Furwock => {
                let mut command = common::furwock_with(&preload(), &["run"]);
                command.arg(path);
                command
            }
        };
        Self::of(command.arg(name))
    }

    /// Started, and waited for until it says that it is ready.
    fn of(command: &mut Command) -> Self {
        // A group of its own, for what it forks.
        let mut child = command.stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("ready")));
        assert!(is_ready, "it ended at once");
        Self(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = -(self.0.id() as i32);
        // SAFETY: the group is this test's own.
        unsafe { libc::kill(group, libc::SIGKILL) };
        let _ = self.0.wait();
    }
}

fn who(arguments: &[&str]) -> Output {
    Command::new("timeout").arg("60").arg(FURWOCK).arg("who").args(arguments).output().unwrap()
}

/// Looks until threads that are on their way into a deadlock are in it.
fn deadlock(running: &Running) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let look = who(&["--json", &running.pid()]);
        let picture: Value = serde_json::from_str(&look.out()).unwrap_or_else(|error| {
            panic!("{error}: {} {}", look.out(), look.err());
        });
        if look.status.code() == Some(DEADLOCK) {
            return picture;
        }
        assert_eq!(look.status.code(), Some(0), "{}", look.err());
        assert!(Instant::now() < end, "no deadlock found: {picture:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn found(name: &str, on: On) -> Value {
    deadlock(&Running::start("hangs", name, on))
}

fn kind(picture: &Value) -> &str {
    picture["deadlocks"][0]["kind"].as_str().unwrap()
}

/// The threads of the first deadlock.
fn stuck(picture: &Value) -> Vec<&Value> {
    let ids = picture["deadlocks"][0]["threads"].as_array().unwrap();
    ids.iter().map(|id| thread(picture, id)).collect()
}

fn thread<'p>(picture: &'p Value, id: &Value) -> &'p Value {
    let processes = picture["processes"].as_array().unwrap().iter();
    let process = processes.clone().find(|process| process["pid"] == id["pid"]).unwrap();
    let mut threads = process["threads"].as_array().unwrap().iter();
    threads.find(|thread| thread["tid"] == id["tid"]).unwrap()
}

fn waits_for<'p>(threads: &[&'p Value]) -> Vec<&'p str> {
    let mut kinds: Vec<&str> =
        threads.iter().map(|thread| thread["waits_for"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

fn functions(thread: &Value) -> Vec<&str> {
    let frames = thread["stack"].as_array().unwrap().iter();
    let places = frames.flat_map(|frame| frame["functions"].as_array().unwrap());
    places.map(|place| place["function"].as_str().unwrap()).collect()
}

#[test]
fn threads_in_a_ring_of_mutexes() {
    for (name, count) in [("two", 2), ("five", 5), ("robust", 2)] {
        for on in BOTH {
            let picture = found(name, on);
            let threads = stuck(&picture);
            assert_eq!((kind(&picture), threads.len()), ("cycle", count), "{name} {on:?}");
            for thread in &threads {
                assert_eq!(thread["waits_for"], "mutex");
                assert!(thread["symbol"].as_str().unwrap().starts_with("locks"), "{thread:#}");
                let names = functions(thread);
                let (inner, outer) = (
                    names.iter().position(|name| *name == "second"),
                    names.iter().position(|name| *name == "in_a_ring"),
                );
                assert!(inner.is_some() && inner < outer, "{name} {on:?}: {names:?}");
            }
            // Each holds what the one before it waits for.
            for (at, thread) in threads.iter().enumerate() {
                let next = threads[(at + 1) % threads.len()];
                assert_eq!(thread["holders"][0]["tid"], next["tid"]);
            }
        }
    }
}

#[test]
fn writers_of_rwlocks() {
    for on in BOTH {
        let picture = found("writers", on);
        assert_eq!(kind(&picture), "cycle", "{on:?}");
        assert_eq!(waits_for(&stuck(&picture)), ["rwlock (to write)"; 2], "{on:?}");
    }
}

/// glibc counts readers; furwock's are known by their slots.
#[test]
fn a_reader_of_a_rwlock() {
    let picture = found("reader", On::Glibc);
    assert_eq!(kind(&picture), "none left to wake");
    let picture = found("reader", On::Furwock);
    assert_eq!(kind(&picture), "cycle");
    assert_eq!(waits_for(&stuck(&picture)), ["mutex", "rwlock (to write)"]);
}

#[test]
fn through_a_condvar() {
    for on in BOTH {
        let picture = found("condvar", on);
        assert_eq!(kind(&picture), "none left to wake", "{on:?}");
        let threads = stuck(&picture);
        assert_eq!(waits_for(&threads), ["condvar", "mutex", "thread to end"], "{on:?}");
        let waiter = threads.iter().find(|thread| thread["waits_for"] == "condvar").unwrap();
        assert_eq!(
            (&waiter["symbol"], &waiter["mutex_symbol"]),
            (&"cond".into(), &"locks+40".into())
        );
    }
}

/// One that was woken, and locks the condvar's mutex again, waits for its holder.
#[test]
fn on_the_way_back_from_a_condvar() {
    for on in BOTH {
        let picture = found("relock", on);
        assert_eq!(kind(&picture), "cycle", "{on:?}");
        assert_eq!(waits_for(&stuck(&picture)), ["mutex"; 2], "{on:?}");
    }
}

#[test]
fn a_thread_that_joins_another() {
    for on in BOTH {
        let picture = found("join", on);
        assert_eq!(kind(&picture), "cycle", "{on:?}");
        assert_eq!(waits_for(&stuck(&picture)), ["mutex", "thread to end"], "{on:?}");
    }
}

#[test]
fn semaphores_and_a_barrier() {
    for (name, kind_of_wait) in [("semaphores", "semaphore"), ("barrier", "barrier")] {
        for on in BOTH {
            let picture = found(name, on);
            assert_eq!(kind(&picture), "none left to wake", "{name} {on:?}");
            let waits = waits_for(&stuck(&picture));
            assert_eq!(waits, [kind_of_wait, kind_of_wait, "thread to end"], "{name} {on:?}");
        }
    }
}

#[test]
fn two_processes_that_share_mutexes() {
    for on in BOTH {
        let picture = found("processes", on);
        assert_eq!(kind(&picture), "cycle", "{on:?}");
        let ids = picture["deadlocks"][0]["threads"].as_array().unwrap();
        assert!(ids.len() == 2 && ids[0]["pid"] != ids[1]["pid"], "{on:?}: {ids:?}");
    }
}

#[test]
fn a_thread_with_itself() {
    for on in BOTH {
        let picture = found("self", on);
        assert_eq!((kind(&picture), stuck(&picture).len()), ("cycle", 1), "{on:?}");
    }
}

#[test]
fn a_holder_that_has_ended() {
    for name in ["ended", "robust-ended"] {
        for on in BOTH {
            let picture = found(name, on);
            assert_eq!(kind(&picture), "holder ended", "{name} {on:?}");
            assert_eq!(stuck(&picture)[0]["holders"][0]["has_ended"], true, "{name} {on:?}");
        }
    }
}

/// The kernel refuses the last of the ring, and glibc makes that thread wait for ever.
#[test]
fn mutexes_with_priority_inheritance() {
    for _ in 0..5 {
        let picture = found("pi", On::Glibc);
        assert_eq!((kind(&picture), waits_for(&stuck(&picture))), ("cycle", vec!["mutex"; 2]));
    }
}

#[test]
fn static_programs_and_unoptimized_ones() {
    for program in ["hangs-unoptimized", "hangs-static"] {
        let picture = deadlock(&Running::start(program, "two", On::Glibc));
        for thread in stuck(&picture) {
            let names = functions(thread);
            assert!(names.contains(&"in_a_ring"), "{program}: {names:?}");
        }
    }
}

#[test]
fn a_stripped_program_is_told_by_its_build_id() {
    let running = Running::start("hangs-stripped", "two", On::Glibc);
    let picture = deadlock(&running);
    assert_eq!(kind(&picture), "cycle");
    let text = who(&[&running.pid()]).out();
    assert!(text.contains("hangs-stripped+0x") && text.contains("build-id"), "{text}");
}

/// Not one look in a hundred may take them for deadlocks.
#[test]
fn healthy_programs_have_no_deadlock() {
    const NAMES: [&str; 9] = [
        "alternating",
        "nested",
        "reading",
        "turns",
        "passing",
        "joining",
        "limited",
        "waits-for-a-signal",
        "asked-to-stop",
    ];
    for name in NAMES {
        for on in BOTH {
            let running = Running::start("busy", name, on);
            for look in 0..6 {
                let seen = who(&[&running.pid()]);
                let (out, err) = (seen.out(), seen.err());
                assert_eq!(seen.status.code(), Some(0), "{name} {on:?} {look}: {out}{err}");
                assert!(!out.contains("DEADLOCK"), "{name} {on:?} {look}: {out}");
            }
        }
    }
}

/// What `who` says of a program, as soon as it says `says`.
fn text(running: &Running, says: &str) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let look = who(&[&running.pid()]);
        let out = look.out();
        // Lines are broken where they have to be.
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.contains(says) {
            return out;
        }
        assert!(Instant::now() < end, "it doesn't say {says:?}: {out}{}", look.err());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Go's goroutines unlock on one thread what they locked on another: none of these is certain to
/// be in a deadlock, and the one that unlocks isn't.
#[test]
fn what_go_locks_may_be_unlocked_by_another_thread() {
    let running = Running::start("others-go", "moved", On::Glibc);
    let said = text(&running, "A thread seems to wait for itself. That isn't certain: Go");
    assert!(!said.contains("DEADLOCK"), "{said}");
    for _ in 0..10 {
        let look = who(&["--json", &running.pid()]);
        assert_eq!(look.status.code(), Some(0), "{}", look.out());
    }
    // A recursive mutex compares the thread that unlocks it.
    let picture = deadlock(&Running::start("others-go", "recursive", On::Glibc));
    assert_eq!((kind(&picture), &picture["perhaps_deadlocks"]), ("cycle", &Value::Array(vec![])));
}

#[test]
fn pythons_gil_has_a_holder() {
    let picture = deadlock(&Running::start("others", "gil", On::Glibc));
    assert_eq!(kind(&picture), "cycle");
    assert_eq!(waits_for(&stuck(&picture)), ["Python's GIL", "mutex"]);
    let running = Running::start("others", "busy-gil", On::Glibc);
    for _ in 0..20 {
        let look = who(&[&running.pid()]);
        assert_eq!(look.status.code(), Some(0), "{}", look.out());
    }
}

/// A library's function that is called with the GIL held waits for a mutex; the thread that has
/// locked it waits for the GIL.
const GIL: &str = "\
import ctypes, threading, time
with_gil, without = ctypes.PyDLL(None), ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)
def other():
    without.pthread_mutex_lock(mutex)
    print('ready', flush=True)
    while True: time.sleep(0.001)
threading.Thread(target=other, daemon=True).start()
time.sleep(0.2)
with_gil.pthread_mutex_lock(mutex)
";

/// CPython's own, from the names of its functions and what lies around its condvar.
#[test]
fn python_itself() {
    let mut command = Command::new("python3");
    let has_it = "import sys, ctypes; sys.exit(sys.implementation.name != 'cpython')";
    let has_it = Command::new("python3").args(["-c", has_it]).status();
    if !has_it.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no CPython with ctypes");
        return;
    }
    let picture = deadlock(&Running::of(command.args(["-c", GIL])));
    assert_eq!(kind(&picture), "cycle");
    assert_eq!(waits_for(&stuck(&picture)), ["Python's GIL", "mutex"], "{picture:#}");
}

#[test]
fn files_are_told_with_the_process_at_their_other_end() {
    const SAYS: [(&str, &str); 9] = [
        ("pipe", "(written by others ("),
        ("socket", "(unix to others ("),
        ("record", ", held by others ("),
        ("file", ", held by others ("),
        ("child", "child process to end: others ("),
        ("started", "a process that it starts, others ("),
        ("poll", "poll of pipe"),
        ("select", "select of pipe"),
        ("epoll", "which watches pipe"),
    ];
    for (name, says) in SAYS {
        if name == "socket" && !kernel_tells_which_sockets_are_connected() {
            eprintln!("skipped: this kernel doesn't tell which Unix sockets are connected");
            continue;
        }
        let running = Running::start("others", name, On::Glibc);
        let said = text(&running, says);
        assert!(said.contains("1 thread"), "{name}: {said}");
        // As after a look that stopped it: the kernel starts the call again, some by another one,
        // which is known by the kernel's function that the thread sleeps in.
        let sleeps_in = fs::read_to_string(format!("/proc/{}/wchan", running.pid()));
        if sleeps_in.is_ok_and(|function| function == "0") {
            eprintln!("not looked at after a stop: this kernel doesn't tell where threads sleep");
            continue;
        }
        for signal in [libc::SIGSTOP, libc::SIGCONT] {
            // SAFETY: the process is this test's own, and hasn't been waited for.
            unsafe { libc::kill(running.0.id() as i32, signal) };
        }
        text(&running, says);
    }
}

/// sock_diag(7), which may be a module that isn't loaded.
fn kernel_tells_which_sockets_are_connected() -> bool {
    // The header, with its length, type and flags, and what is asked: family, states, what to show.
    let mut request = [0_u32; 10];
    request[0] = size_of_val(&request) as u32;
    request[1] = 20 | ((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u32) << 16;
    request[4] = libc::AF_UNIX as u32;
    request[5] = u32::MAX;
    request[7] = 4;
    let mut answer = [0_u32; 1 << 12];
    // SAFETY: the request and the room for the answer are as long as said.
    let got = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let socket = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
        libc::send(socket, request.as_ptr().cast(), size_of_val(&request), 0);
        let got = libc::recv(socket, answer.as_mut_ptr().cast(), size_of_val(&answer), 0);
        libc::close(socket);
        got
    };
    got >= 16 && answer[1] & 0xffff == 20
}

#[test]
fn generated_code_and_signals_handlers_are_in_stacks() {
    let said = text(&Running::start("others", "signal", On::Glibc), "handler others.c");
    let has_both = said.contains("<signal handler called>") && said.contains("interrupted");
    assert!(has_both, "{said}");
    let whole = "waits_for_ever";
    let said = text(&Running::start("others", "unlisted", On::Glibc), whole);
    if cfg!(target_arch = "x86_64") {
        assert!(said.contains("(generated code)") && said.contains("main"), "{said}");
        let running = Running::start("others", "listed", On::Glibc);
        let said = text(&running, whole);
        let _ = fs::remove_file(format!("/tmp/perf-{}.map", running.pid()));
        assert!(said.contains("made_by_hand") && said.contains("main"), "{said}");
    }
}

/// Beside the program, by the name that it has in it, as `strip` and `objcopy` leave it.
#[test]
fn debug_information_in_a_file_of_its_own() {
    let whole = programs().copy(programs().path("hangs").to_str().unwrap(), "apart/hangs");
    let folder = whole.parent().unwrap();
    let run = |command: &[&str]| {
        let mut tool = Command::new(command[0]);
        tool.current_dir(folder).args(&command[1..]).status().is_ok_and(|status| status.success())
    };
    let has_tools = run(&["objcopy", "--only-keep-debug", "hangs", "hangs.debug"])
        && run(&["objcopy", "--strip-all", "--add-gnu-debuglink=hangs.debug", "hangs"]);
    if !has_tools {
        eprintln!("skipped: there is no objcopy");
        return;
    }
    let running = Running::of(Command::new(&whole).arg("two"));
    let said = text(&running, "DEADLOCK");
    let has_both = said.contains("in_a_ring  hangs.c:") && said.contains("mutex locks");
    assert!(has_both, "{said}");
}

/// This program again, in a test that hangs.
fn in_rust(test: &str) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "--test-threads=1", test]);
    Running::of(&mut command)
}

/// Two threads that want what the other has, by any kind of lock.
fn cross<Lock: Sync, Guard>(locks: &[Lock; 2], lock: impl Fn(&Lock) -> Guard + Sync) {
    let begun = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for own in 0..2 {
            let (lock, begun) = (&lock, &begun);
            scope.spawn(move || {
                let _first = lock(&locks[own]);
                begun.wait();
                let _second = lock(&locks[1 - own]);
            });
        }
        println!("ready");
    });
}

#[test]
#[ignore = "hangs: another test looks at it"]
fn hangs_with_furwocks_mutexes() {
    use furwock::inspect::WithName;
    cross(&["the first", "the second"].map(|name| furwock::Mutex::named(name, 0)), |mutex| {
        std::mem::forget(mutex.lock());
    });
}

#[test]
#[ignore = "hangs: another test looks at it"]
fn hangs_with_stds_mutexes() {
    cross(&[std::sync::Mutex::new(0), std::sync::Mutex::new(1)], |mutex| {
        std::mem::forget(mutex.lock().unwrap());
    });
}

#[test]
#[ignore = "hangs: another test looks at it"]
fn hangs_with_parking_lots_rwlocks() {
    let locks = [parking_lot::RwLock::new(0), parking_lot::RwLock::new(1)];
    cross(&locks, |lock| std::mem::forget(lock.write()));
}

#[test]
fn rust_programs() {
    let picture = deadlock(&in_rust("hangs_with_furwocks_mutexes"));
    assert_eq!(kind(&picture), "cycle");
    for thread in stuck(&picture) {
        let names = functions(thread);
        assert!(names.iter().any(|name| name.contains("who::cross")), "{names:?}");
    }
    let named = |name: &str| stuck(&picture).iter().any(|thread| thread["symbol"] == name);
    assert!(named("the first") && named("the second"), "{picture:#}");
    let picture = deadlock(&in_rust("hangs_with_stds_mutexes"));
    assert_eq!(kind(&picture), "none left to wake");
    assert!(waits_for(&stuck(&picture)).contains(&"mutex"));
    let picture = deadlock(&in_rust("hangs_with_parking_lots_rwlocks"));
    assert_eq!(kind(&picture), "none left to wake");
    assert!(waits_for(&stuck(&picture)).contains(&"rwlock (to write)"));
}

#[test]
fn the_picture_fits_80_columns() {
    for on in BOTH {
        let running = Running::start("hangs", "five", on);
        deadlock(&running);
        let look = who(&[&running.pid()]);
        let text = look.out();
        assert_eq!(look.status.code(), Some(DEADLOCK), "{text}");
        assert!(text.contains("DEADLOCK: 5 threads wait for each other"), "{text}");
        assert!(text.contains("holds it: the circle closes"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// Whether a document has the example's fields, with values of the same types.
fn compare(seen: &Value, example: &Value, at: &str) {
    let is_same = std::mem::discriminant(seen) == std::mem::discriminant(example);
    assert!(is_same || seen.is_null(), "{at}: {seen} beside {example}");
    match (seen, example) {
        (Value::Object(seen), Value::Object(example)) => {
            let names = |object: &serde_json::Map<String, Value>| {
                object.keys().cloned().collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(names(seen), names(example), "{at}");
            for (name, value) in seen {
                compare(value, &example[name], &format!("{at}.{name}"));
            }
        }
        (Value::Array(seen), Value::Array(example)) => {
            seen.iter().for_each(|each| compare(each, &example[0], at));
        }
        _ => {}
    }
}

#[test]
fn the_documented_json_is_what_is_printed() {
    let page = include_str!("../../docs/who.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    let example: Value = serde_json::from_str(example.unwrap()).unwrap();
    for name in ["two", "condvar", "crowd"] {
        let running = Running::start("hangs", name, On::Glibc);
        let look = who(&["--json", &running.pid()]);
        compare(&serde_json::from_str(&look.out()).unwrap(), &example, name);
    }
}

#[test]
fn a_thousand_threads_are_shown() {
    let running = Running::start("hangs", "crowd", On::Glibc);
    let look = who(&[&running.pid()]);
    assert_eq!(look.status.code(), Some(0), "{}", look.err());
    assert!(look.out().contains("1000 threads"), "{}", look.out());
}

fn assert_fails(look: &Output, says: &str) {
    let error = look.err();
    assert_eq!(look.status.code(), Some(1), "{error}");
    assert!(error.lines().count() == 1 && error.contains(says), "{error}");
}

#[test]
fn what_cannot_be_looked_at_is_said_in_a_line() {
    let limit = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    assert_fails(&who(&[limit.trim()]), "no process");
    let running = Running::start("hangs", "two", On::Glibc);
    let pid = running.pid();
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let names = threads.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let thread = names.into_iter().find(|name| *name != pid).unwrap();
    assert_fails(&who(&[&thread]), &format!("{thread} is a thread of process {pid}"));
    let mut ended = Command::new("true").spawn().unwrap();
    let is_zombie = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.contains("State:\tZ")
    };
    while !is_zombie(ended.id()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_fails(&who(&[&ended.id().to_string()]), "has ended");
    ended.wait().unwrap();
    assert_eq!(who(&[]).status.code(), Some(2));
    assert_eq!(who(&["--all", "1"]).status.code(), Some(2));
    assert_eq!(who(&["nonsense"]).status.code(), Some(2));
}

/// A program whose calls have other numbers: futex(2) is 240 there.
#[test]
fn a_32_bit_program_is_named_as_such() {
    const PROGRAM: &str = "\
        .globl _start\n.data\nword: .long 5\ntext: .ascii \"ready\\n\"\n.text\n\
        _start: movl $4,%eax\nmovl $1,%ebx\nmovl $text,%ecx\nmovl $6,%edx\nint $0x80\n\
        movl $240,%eax\nmovl $word,%ebx\nmovl $128,%ecx\nmovl $5,%edx\nxorl %esi,%esi\n\
        int $0x80\n";
    let folder = programs();
    fs::write(folder.path("narrow.s"), PROGRAM).unwrap();
    let path = folder.path("narrow");
    let built = Command::new("cc")
        .args(["-m32", "-nostdlib", "-static", "-o"])
        .args([&path, &folder.path("narrow.s")])
        .output();
    let runs = || Command::new("timeout").arg("0.2").arg(&path).output();
    let runs = || runs().is_ok_and(|output| output.out().contains("ready"));
    if !built.is_ok_and(|output| output.status.success()) || !runs() {
        eprintln!("skipped: no program of 32 bits can be built and run here");
        return;
    }
    let running = Running::of(&mut Command::new(&path));
    assert_fails(&who(&[&running.pid()]), "is a 32-bit program");
}

#[test]
fn a_stopped_process_is_said_to_be_stopped() {
    let running = Running::start("hangs", "two", On::Glibc);
    deadlock(&running);
    // SAFETY: to the group that this test has started.
    unsafe { libc::kill(-(running.0.id() as i32), libc::SIGSTOP) };
    let said = text(&running, "are stopped (a signal or a debugger)");
    assert!(!said.contains("DEADLOCK"), "{said}");
}

/// Needs root, to make a namespace: threads have other ids in there, and files aren't outside.
#[test]
fn a_process_in_a_container() {
    let program = programs().path("hangs");
    let inside = "mount -t tmpfs none /mnt && cp \"$0\" /mnt/inside && cd / && /mnt/inside two; :";
    let mut command = Command::new("unshare");
    command.args(["-mpf", "--mount-proc", "sh", "-c", inside]).arg(&program);
    let can = Command::new("unshare").args(["-mpf", "--mount-proc", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: namespaces can't be made here");
        return;
    }
    let running = Running::of(&mut command);
    // unshare, its shell, the program.
    let child = |pid: &str| {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        list.split_whitespace().next().unwrap().to_owned()
    };
    let pid = child(&child(&running.pid()));
    let end = Instant::now() + PATIENCE;
    let look = loop {
        let look = who(&[&pid]);
        if look.status.code() == Some(DEADLOCK) || Instant::now() > end {
            break look;
        }
    };
    assert!(look.out().contains("DEADLOCK: 2 threads wait for each other"), "{}", look.out());
    assert!(look.out().contains("in_a_ring  hangs.c:"), "{}", look.out());
    for process in [&pid, &child(&running.pid())] {
        // SAFETY: the container's processes, which this test has started.
        unsafe { libc::kill(process.parse().unwrap(), libc::SIGKILL) };
    }
}

/// Needs root, to become another user.
#[test]
fn another_users_process_needs_a_capability() {
    // SAFETY: asks only.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let running = Running::start("hangs", "two", On::Glibc);
    let look = Command::new("setpriv")
        .args(["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", "--reuid=0"])
        .args([FURWOCK, "who", &running.pid()])
        .output()
        .unwrap();
    // The same user, but the process has more capabilities.
    assert_fails(&look, "not permitted to look into process");
    assert!(look.out().contains("3 threads"), "{}", look.out());
}

#[test]
fn a_program_that_is_started_keeps_its_status() {
    for status in [0, 7] {
        let script = format!("exit {status}");
        assert_eq!(who(&["--", "sh", "-c", &script]).status.code(), Some(status));
    }
    assert_eq!(who(&["--", "sh", "-c", "kill -SEGV $$"]).status.code(), Some(128 + libc::SIGSEGV));
    assert_eq!(who(&["--", "no such program"]).status.code(), Some(127));
    assert_eq!(who(&["--", "sh", "-c", "cat"]).status.code(), Some(0));
}

#[test]
fn a_program_that_is_started_is_reported_when_it_hangs() {
    for (name, says) in [("two", "wait for each other"), ("semaphores", "none is left")] {
        let path = programs().path("hangs");
        let path = path.to_str().unwrap();
        let run = who(&["--after", "0.3", "--kill", "--", path, name]);
        let (out, err) = (run.out(), run.err());
        assert_eq!(run.status.code(), Some(DEADLOCK), "{err}");
        assert_eq!(out, "ready\n", "the program's own");
        assert!(err.contains("DEADLOCK") && err.contains(says), "{err}");
    }
}

#[test]
fn sigquit_asks_for_a_look_and_the_program_goes_on() {
    let mut command = Command::new(FURWOCK);
    command.args(["who", "--", "sh", "-c", "echo ready; sleep 2; exit 9"]);
    let mut running = Running::of(command.stderr(Stdio::piped()));
    // Again and again, since the shell may take a while to start what it waits for.
    for _ in 0..8 {
        // SAFETY: to the command, which this test has started.
        unsafe { libc::kill(running.0.id() as i32, libc::SIGQUIT) };
        std::thread::sleep(Duration::from_millis(150));
    }
    assert_eq!(running.0.wait().unwrap().code(), Some(9));
    let error = std::io::read_to_string(running.0.stderr.take().unwrap()).unwrap();
    assert!(error.contains("sleep (") && error.contains("1 thread"), "{error}");
}

#[test]
fn all_of_the_users_processes() {
    let running = Running::start("hangs", "two", On::Glibc);
    deadlock(&running);
    let look = who(&["--all"]);
    assert_eq!(look.status.code(), Some(DEADLOCK), "{}", look.err());
    assert!(look.out().contains(&format!("hangs ({})", running.pid())), "{}", look.out());
    assert!(look.out().contains("in which no thread waits for another"), "{}", look.out());
}
