//! Runs a program once and measures it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::Serialize;

use super::interrupt;
use crate::harness::usage::seconds;

/// How often a long wait checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(100);
/// How long an interrupted program may take to clean up before it is killed.
const GRACE: Duration = Duration::from_secs(1);

pub struct Launch<'a> {
    pub program: &'a Path,
    /// From the program's own name on.
    pub arguments: &'a [OsString],
    pub ld_preload: &'a OsStr,
    /// The file of its record, if it leaves one.
    pub record: Option<&'a Path>,
    /// What it reads; nothing without a file.
    pub input: Option<&'a Path>,
    pub stdout: Stdout<'a>,
    pub timeout: Option<Duration>,
    /// Does Ctrl-C end it?
    pub interruptible: bool,
}

#[derive(Clone, Copy)]
pub enum Stdout<'a> {
    Discard,
    /// Read and discarded: some programs do less if they write to /dev/null.
    Pipe,
    Show,
    Keep,
    /// Written anew by each run.
    File(&'a Path),
}

/// What one run took: wait4's account of the process and of the children that it waited for.
#[derive(Serialize, Clone, Copy, Debug, Default)]
pub struct Sample {
    pub wall_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    pub voluntary_switches: f64,
    pub involuntary_switches: f64,
    /// At least furwock's own: a process starts as a copy of its parent.
    pub peak_rss_kib: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Killed(i32),
    TimedOut,
    Interrupted,
}

pub struct Outcome {
    pub sample: Sample,
    pub ending: Ending,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs the program in a process group of its own, and kills the group if it takes too long.
pub fn run(launch: &Launch) -> io::Result<Outcome> {
    let (mut stdout, mut stderr) = (in_memory_file()?, in_memory_file()?);
    let mut command = Command::new(launch.program);
    command
        .arg0(&launch.arguments[0])
        .args(&launch.arguments[1..])
        .process_group(0)
        .stdin(match launch.input {
            Some(path) => File::open(path)?.into(),
            None => Stdio::null(),
        })
        .stderr(stderr.try_clone()?);
    match launch.stdout {
        Stdout::Discard => command.stdout(Stdio::null()),
        Stdout::Pipe => command.stdout(Stdio::piped()),
        Stdout::File(path) => command.stdout(File::create(path)?),
        Stdout::Show => command.stdout(Stdio::inherit()),
        Stdout::Keep => command.stdout(stdout.try_clone()?),
    };
    if launch.ld_preload.is_empty() {
        command.env_remove("LD_PRELOAD");
    } else {
        command.env("LD_PRELOAD", launch.ld_preload);
    }
    if let Some(record) = launch.record {
        command.env(furwock_record::VARIABLE, record);
    }
    let start = Instant::now();
    let mut spawned = command.spawn()?;
    let child = Pid::from_child(&spawned);
    // It ends with the last process that has the pipe.
    let drain = spawned
        .stdout
        .take()
        .map(|mut pipe| std::thread::spawn(move || io::copy(&mut pipe, &mut io::sink())));
    let deadline = launch.timeout.map(|timeout| start + timeout);
    let stopped = wait_until_over(child, deadline, launch.interruptible)?;
    let wall = start.elapsed();
    let (status, usage) = reap(child)?;
    // (Of a program that has left a process behind, the thread ends later.)
    drop(drain);
    Ok(Outcome {
        sample: sample(wall, &usage),
        ending: stopped.unwrap_or_else(|| ending(status)),
        stdout: contents(&mut stdout)?,
        stderr: contents(&mut stderr)?,
    })
}

/// Returns why the child had to be stopped, or nothing if it ended by itself.
fn wait_until_over(
    child: Pid,
    deadline: Option<Instant>,
    interruptible: bool,
) -> io::Result<Option<Ending>> {
    let handle = pidfd_open(child, PidfdFlags::empty())?;
    let ends_within = |limit: Duration| -> io::Result<bool> {
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    };
    loop {
        let left = deadline.map_or(TICK, |at| at.saturating_duration_since(Instant::now()));
        if ends_within(left.min(TICK))? {
            return Ok(None);
        }
        if interruptible && interrupt::asked() {
            stop(child, Signal::INT);
            ends_within(GRACE)?;
            stop(child, Signal::KILL);
            return Ok(Some(Ending::Interrupted));
        }
        if deadline.is_some_and(|at| at <= Instant::now()) {
            stop(child, Signal::KILL);
            return Ok(Some(Ending::TimedOut));
        }
    }
}

fn stop(group: Pid, signal: Signal) {
    // Fails only if the group is gone already.
    let _ = kill_process_group(group, signal);
}

fn reap(child: Pid) -> io::Result<(libc::c_int, libc::rusage)> {
    let child = child.as_raw_pid();
    let mut status = 0;
    // SAFETY: all-zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: `status` and `usage` are ours to write.
        if unsafe { libc::wait4(child, &mut status, 0, &mut usage) } == child {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn ending(status: libc::c_int) -> Ending {
    if libc::WIFSIGNALED(status) {
        Ending::Killed(libc::WTERMSIG(status))
    } else {
        Ending::Exited(libc::WEXITSTATUS(status))
    }
}

fn sample(wall: Duration, usage: &libc::rusage) -> Sample {
    Sample {
        wall_s: wall.as_secs_f64(),
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as f64,
        involuntary_switches: usage.ru_nivcsw as f64,
        peak_rss_kib: usage.ru_maxrss as f64,
    }
}

/// Holds what a child writes until it has ended.
fn in_memory_file() -> io::Result<File> {
    Ok(File::from(memfd_create("furwock-output", MemfdFlags::CLOEXEC)?))
}

fn contents(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited(status) => write!(f, "exit status {status}"),
            Ending::Killed(signal) => write!(f, "killed by signal {signal}"),
            Ending::TimedOut => f.write_str("hung, and was killed when its time was up"),
            Ending::Interrupted => f.write_str("interrupted"),
        }
    }
}
