//! `furwock-stress [--side furwock|glibc] [--seconds N] [--seed S]
//! [--storm fork|signal|cancel|all|fresh]`: compiles `stress/*.c` and runs them, on furwock by
//! default, under the watchdog, which judges hangs from outside.
//!
//! `--storm fresh` runs new objects instead of a mix (`src/fresh`): the crate's types and pthread's
//! by turns, or with `--face crate|pthread` one of them; on glibc only pthread's.

use furwock_conformance::fresh::{self, Face, Plan};
use furwock_conformance::program::kill_group;
use furwock_conformance::watchdog::runner::hard_limit_s;
use furwock_conformance::watchdog::{HARD_LIMIT, watch};
use furwock_conformance::{Artifact, Side, scratch};
use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime};

/// `stress/stress.c` has these beside it.
const SUBJECTS: [&str; 8] =
    ["actors", "barriers", "cancels", "forks", "locks", "rwlocks", "semaphores", "signals"];

/// The storms of `stress/stress.c`, and `FRESH`.
const STORMS: [&str; 5] = ["fork", "signal", "cancel", "all", FRESH];
const FRESH: &str = "fresh";

/// `STUCK_S` of `stress/stress.h`.
const STUCK: Duration = Duration::from_secs(10);

/// The longest run of one face. Then a new process begins, in which no reader slots are lost yet,
/// with the next seed.
const MOST_SECONDS: u64 = 120;

/// The first argument of a process that runs one face.
const BE: &str = "--be";

struct Options {
    side: Side,
    seconds: u64,
    seed: u64,
    storm: Option<String>,
    face: Option<Face>,
}

fn main() -> ExitCode {
    let given: Vec<_> = env::args().skip(1).collect();
    if let [BE, face, seconds, seed] = given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let number = |text: &str| text.parse().expect("written by this program");
        let (face, time) = (face_of(face), Duration::from_secs(number(seconds)));
        fresh::run(Plan { face: face.expect("as above"), time, seed: number(seed) });
        return ExitCode::SUCCESS;
    }
    let Some(options) = parse(&given) else {
        eprintln!(
            "usage: furwock-stress [--side furwock|glibc] [--seconds N] [--seed S] \
             [--storm fork|signal|cancel|all|fresh [--face crate|pthread]]"
        );
        return ExitCode::from(2);
    };
    let status = if options.storm.as_deref() == Some(FRESH) {
        run_fresh(&options)
    } else {
        run_mix(&options)
    };
    ExitCode::from(status)
}

fn face_of(name: &str) -> Option<Face> {
    Face::ALL.into_iter().find(|face| face.name() == name)
}

fn parse(given: &[String]) -> Option<Options> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut options = Options {
        side: Side::Furwock,
        seconds: 10,
        seed: since.as_nanos() as u64 % 1_000_000_007,
        storm: None,
        face: None,
    };
    for pair in given.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--side" => {
                let sides = [Side::Furwock, Side::Glibc];
                options.side = sides.into_iter().find(|side| side.name() == value)?;
            }
            "--seconds" => options.seconds = value.parse().ok().filter(|seconds| *seconds > 0)?,
            "--seed" => options.seed = value.parse().ok()?,
            "--storm" if STORMS.contains(&value.as_str()) => options.storm = Some(value.clone()),
            "--face" => options.face = Some(face_of(value)?),
            _ => return None,
        }
    }
    let is_fresh = options.storm.as_deref() == Some(FRESH);
    (is_fresh || options.face.is_none()).then_some(options)
}

fn run_mix(options: &Options) -> u8 {
    let folder = scratch(&format!("{}-stress", options.side.name()));
    let subjects = SUBJECTS.map(|subject| format!("stress/{subject}.c"));
    let subjects: Vec<_> = subjects.iter().map(String::as_str).collect();
    let program = Artifact::program("stress/stress.c", &folder, "stress").and(&subjects).build();
    let mut command = options.side.command(&program);
    command.args(["--seconds", &options.seconds.to_string()]);
    command.args(["--seed", &options.seed.to_string()]);
    if let Some(storm) = &options.storm {
        command.args(["--storm", storm]);
    }
    run(command, STUCK)
}

/// The faces by turns, until the time is over or one fails.
fn run_fresh(options: &Options) -> u8 {
    let is_chosen = |face: &Face| match options.face {
        Some(only) => *face == only,
        None => options.side == Side::Furwock || *face == Face::Pthread,
    };
    let faces: Vec<_> = Face::ALL.into_iter().filter(is_chosen).collect();
    let program = env::current_exe().expect("/proc is mounted");
    let (mut left, mut seed) = (options.seconds, options.seed);
    while left > 0 {
        for &face in &faces {
            let share = options.seconds.div_ceil(faces.len() as u64);
            let seconds = share.min(MOST_SECONDS).min(left.max(1));
            println!("fresh: {}, seed {seed}, {seconds} s, {}", face.name(), options.side.name());
            let mut command = match face {
                Face::Crate => Command::new(&program),
                Face::Pthread => options.side.command(&program),
            };
            command.args([BE, face.name(), &seconds.to_string(), &seed.to_string()]);
            let status = run(command, fresh::STUCK);
            if status != 0 {
                return status;
            }
            left = left.saturating_sub(seconds);
        }
        seed += 1;
    }
    0
}

/// Runs a program that asks when it is stuck, in a process group that doesn't outlive it. Returns
/// its exit status.
fn run(mut command: Command, bound: Duration) -> u8 {
    command.process_group(0).stderr(Stdio::piped());
    command.env(HARD_LIMIT, hard_limit_s(bound).to_string());
    let die_with_us = || {
        // SAFETY: no memory is touched. (A signal from the terminal reaches the parent only.)
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        Ok(())
    };
    // SAFETY: one system call.
    unsafe { command.pre_exec(die_with_us) };
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("furwock-stress: {}: {error}", command.get_program().display());
            return 1;
        }
    };
    let watched = watch(&mut child, None, |line| eprint!("{line}"));
    kill_group(&child);
    let (status, report) = watched.heard();
    if let Some(report) = report {
        eprint!("{report}");
    }
    match status {
        Ok(status) => status.and_then(|status| status.code()).map_or(1, |code| code as u8),
        Err(error) => {
            eprintln!("furwock-stress: {error}");
            1
        }
    }
}
