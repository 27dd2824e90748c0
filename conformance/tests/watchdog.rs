//! The watchdog's verdicts on processes that are stuck in known ways, and on recorded looks at
//! threads.

use furwock_conformance::program::kill_group;
use furwock_conformance::watchdog::{
    Call, Cause, Fault, Look, Patience, Subject, cause, examine, verdict, watch,
};
use furwock_conformance::{Artifact, Side, scratch};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A process that is stuck. Ends with its group when it is dropped.
struct Stuck(Child);

impl Drop for Stuck {
    fn drop(&mut self) {
        kill_group(&self.0);
        let _ = self.0.wait();
    }
}

fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        Artifact::program("watchdog/stuck.c", &scratch("watchdog"), "stuck").build()
    })
}

fn started(mut command: Command) -> Stuck {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    Stuck(command.spawn().expect("the program can be started"))
}

/// `None` if this machine can't have it.
fn stuck_on(side: Side, way: &str) -> Option<Stuck> {
    let mut command = side.command(program());
    command.arg(way);
    let mut stuck = started(command);
    let mut said = String::new();
    let stdout = stuck.0.stdout.take().expect("piped above");
    BufReader::new(stdout).read_line(&mut said).expect("text");
    if said != "ready\n" {
        assert_eq!(stuck.0.wait().expect("a child").code(), Some(77), "{way}: {said}");
        println!("{way}: can't be had here");
        return None;
    }
    // The call that it is stuck in is the next.
    std::thread::sleep(Duration::from_millis(100));
    Some(stuck)
}

/// What the watchdog finds, and its lines on the process.
fn found(stuck: &Stuck) -> (Fault, Vec<Cause>, String) {
    let seen = examine(&Subject::Process(stuck.0.id()));
    let lines = seen.lines();
    print!("{lines}");
    (seen.fault(), seen.kept().into_iter().map(|(_, cause)| cause).collect(), lines)
}

#[track_caller]
fn check(way: &str, fault: Fault, cause: Cause, wchan: &str) {
    let Some(stuck) = stuck_on(Side::Glibc, way) else { return };
    let (found, causes, lines) = found(&stuck);
    assert_eq!((found, causes.contains(&cause)), (fault, true), "{causes:?}\n{lines}");
    assert!(lines.contains(&format!("{}/", stuck.0.id())), "{lines}");
    assert!(lines.contains(wchan), "{wchan}: {lines}");
}

#[test]
fn a_futex_wait_is_furwocks() {
    check("futex", Fault::Furwock, Cause::InFutex, ", futex; ");
}

#[test]
fn a_wait_for_a_mutex_is_furwocks_on_either_side() {
    for side in [Side::Glibc, Side::Furwock] {
        let stuck = stuck_on(side, "mutex").expect("anybody can lock twice");
        let (fault, causes, lines) = found(&stuck);
        assert_eq!((fault, &*causes), (Fault::Furwock, &[Cause::InFutex][..]), "{lines}");
        // The library that waits.
        assert!(lines.contains("user: "), "{lines}");
        let place = if side == Side::Furwock { "libfurwock_preload" } else { "libc" };
        assert!(lines.contains(place), "{lines}");
    }
}

#[test]
fn a_thread_that_spins_is_furwocks() {
    // Unless others leave it no processor: then the machine is at fault.
    let stuck = stuck_on(Side::Glibc, "spin").expect("anybody can spin");
    let (fault, causes, lines) = found(&stuck);
    let machines = [Cause::Starved, Cause::Late].contains(&causes[0]);
    let expected = if machines { Fault::Machine } else { Fault::Furwock };
    assert!(machines || causes[0] == Cause::Runs, "{causes:?}");
    assert_eq!(fault, expected, "{lines}");
}

#[test]
fn a_read_from_a_pipe_is_the_programs() {
    check("pipe", Fault::Program, Cause::Elsewhere, ", read; ");
}

#[test]
fn a_stopped_process_is_the_machines() {
    check("stopped", Fault::Machine, Cause::Stopped, "state T");
}

#[test]
fn a_starved_process_is_the_machines() {
    check("starved", Fault::Machine, Cause::Starved, "state R");
}

#[test]
fn a_process_that_the_kernel_keeps_is_the_machines() {
    check("kernel", Fault::Machine, Cause::InKernel, "state D");
}

/// The parent sleeps uninterruptibly, but for its child.
#[test]
fn a_futex_wait_behind_vfork_is_furwocks() {
    check("vfork", Fault::Furwock, Cause::ForChild, "state D");
}

#[test]
fn the_machines_fault_extends_a_bound_up_to_the_limit() {
    let stuck = stuck_on(Side::Glibc, "stopped").expect("anybody can stop");
    let bound = Duration::from_secs(1);
    let (mut patience, start) = (Patience::new(bound), Instant::now());
    let report = loop {
        if let Some(report) = patience.judge(&Subject::Process(stuck.0.id())) {
            break report;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(start.elapsed() >= bound * 4, "{:?}", start.elapsed());
    assert!(report.contains("the machine's fault"), "{report}");
}

#[test]
fn furwocks_fault_ends_the_watch_at_the_bound() {
    let mut stuck = stuck_on(Side::Furwock, "mutex").expect("anybody can lock twice");
    let start = Instant::now();
    let watched = watch(&mut stuck.0, Some(Duration::from_secs(1)), |_| ());
    assert!(matches!(watched.status, Ok(None)));
    let report = watched.report.expect("it is stuck");
    println!("{report}");
    assert!(report.contains("furwock's fault"), "{report}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    let has_gdb =
        Command::new("gdb").arg("--version").output().is_ok_and(|run| run.status.success());
    assert!(
        !has_gdb || report.contains("furwock_preload::mutex::pthread_mutex_lock_slow"),
        "{report}"
    );
}

/// The watchdog looks at the thread that is named, and hears what else is said.
#[test]
fn a_program_may_ask() {
    let mut command = Side::Furwock.command(program());
    command.arg("asks").stderr(Stdio::piped());
    let mut stuck = started(command);
    let said = Arc::new(Mutex::new(String::new()));
    let heard = said.clone();
    let watched = watch(&mut stuck.0, None, move |line| heard.lock().unwrap().push_str(line));
    let report = watched.report.expect("it is stuck");
    println!("{report}");
    assert!(report.contains("furwock's fault"), "{report}");
    // The main thread, which sleeps, isn't among those that were named.
    assert_eq!(report.lines().filter(|line| line.contains(" switches (")).count(), 1, "{report}");
    assert!(said.lock().unwrap().starts_with("what it says\n"));
}

/// Seen in practice: children that fork and end at the same time wait for a lock of a file that
/// they map.
#[test]
fn looks_that_were_written_down() {
    let window_ms = 1000;
    let look = |state, wchan: &str, call, run_ms: u64, wait_ms: u64| Look {
        state,
        wchan: wchan.to_owned(),
        call,
        run_ns: run_ms * 1_000_000,
        wait_ns: wait_ms * 1_000_000,
        switches: 0,
        age: Duration::from_secs(10),
    };
    let of = |looks: &[Look]| cause(looks, window_ms * 1_000_000);
    let call = |number| Call::In { number, at: 0 };
    let exits = look('D', "unlink_file_vma_batch_process", call(libc::SYS_exit_group), 1, 0);
    assert_eq!(of(&[exits.clone(), exits.clone()]), Cause::InKernel);
    // Slices of a millisecond: it sleeps, runs, sleeps.
    let sleeps = look('S', "futex_wait_queue", call(libc::SYS_futex), 10, 0);
    let between = look('R', "0", Call::Running, 20, 0);
    let later = look('S', "futex_wait_queue", call(libc::SYS_futex), 30, 0);
    assert_eq!(of(&[sleeps.clone(), between.clone(), later.clone()]), Cause::InFutex);
    // It runs all the time; or does now, and didn't before.
    let ran = |wait_ms| look('R', "0", Call::Running, 900, wait_ms);
    assert_eq!(of(&[between.clone(), ran(4000)]), Cause::Runs);
    assert_eq!(of(&[between.clone(), ran(6000)]), Cause::Late);
    assert_eq!(of(&[between.clone(), between]), Cause::Starved);
    // A nap, and a look, and a nap; or one long sleep.
    let nap = |switches| Look {
        switches,
        ..look('S', "hrtimer_nanosleep", call(libc::SYS_clock_nanosleep), 1, 0)
    };
    assert_eq!(of(&[nap(0), nap(500)]), Cause::Naps);
    assert_eq!(of(&[nap(7), nap(7), nap(7)]), Cause::Elsewhere);
    // The kernel's word on priorities' futexes and on its calls may be missing.
    assert_eq!(of(&[look('S', "futex_wait_queue", Call::Unknown, 1, 0)]), Cause::InFutex);
    assert_eq!(of(&[look('S', "pipe_read", Call::Unknown, 1, 0)]), Cause::Elsewhere);
    assert_eq!(of(&[look('Z', "0", Call::Unknown, 1, 0)]), Cause::Ended);
    assert_eq!(of(&[]), Cause::Ended);
    // All the others may wait for the one that the machine holds up.
    let all = [Cause::Ended, Cause::InFutex, Cause::Elsewhere, Cause::InKernel];
    assert_eq!(verdict(all), Fault::Machine);
    assert_eq!(verdict(all[..3].iter().copied()), Fault::Furwock);
    assert_eq!(verdict([Cause::ForChild, Cause::Ended]), Fault::Program);
    // The thread that naps and looks waits for the other.
    assert_eq!(verdict([Cause::Naps, Cause::Elsewhere]), Fault::Program);
    assert_eq!(verdict([Cause::Naps]), Fault::Furwock);
}
