//! A program that furwock stays the parent of, in its process group and at its terminal. furwock
//! ends as it does.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal as Number, WaitOptions, kill_process, waitpid};

use super::monitor::Monitor;
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::program::{self, Changes};
use crate::signals::{Signal, Signals};
use crate::streams::say;

/// SIGUSR2 may be for furwock; the others are the program's, which would be left alone by a parent
/// that they ended. Left out are those that can't be caught, SIGPIPE, which this process ignores,
/// and SIGTTIN and SIGTTOU, which a terminal's own stop it by.
const TAKEN: [i32; 26] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGSTKFLT,
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGURG,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGWINCH,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSYS,
];
/// A signal that is lost costs no more than this.
const TICK: Duration = Duration::from_secs(1);

/// How the program ended.
pub enum Ended {
    Exited(i32),
    Killed(i32),
}

impl Ended {
    /// The status to exit with. Ends this process by the signal that the program ended by, if any.
    pub fn status(self) -> i32 {
        match self {
            Ended::Exited(status) => status,
            Ended::Killed(signal) => end_by(signal),
        }
    }
}

/// What furwock does beside the program.
pub trait Beside {
    /// Called now and then. Returns in how long to call it again, at the latest.
    fn look(&mut self) -> Option<Duration> {
        None
    }

    /// SIGUSR2 has come. False if it is the program's.
    fn usr2(&mut self) -> bool {
        false
    }
}

/// Nothing.
impl Beside for () {}

/// Runs the program until it has ended.
pub fn run(
    path: &Path,
    command: &[OsString],
    changes: &Changes<'_>,
    monitor: Option<&Monitor>,
    beside: &mut impl Beside,
) -> Result<Ended, Failure> {
    let realtime = libc::SIGRTMIN()..=libc::SIGRTMAX();
    let signals = Signals::take(TAKEN.into_iter().chain(realtime));
    let pid = start(path, command, changes, monitor, &signals)?;
    Ok(wait(pid, &signals, beside))
}

fn start(
    path: &Path,
    command: &[OsString],
    changes: &Changes<'_>,
    monitor: Option<&Monitor>,
    signals: &Signals,
) -> Result<Pid, Failure> {
    // SAFETY: this process has one thread, so that the child may do whatever it may.
    match unsafe { libc::fork() } {
        -1 => {
            let error = std::io::Error::last_os_error();
            Err(Failure::new(STATUS_OWN_FAILURE, format!("the program can't be started: {error}")))
        }
        0 => {
            let _ = signals.found().restore();
            // Without it, the program runs as without a monitor.
            let _ = monitor.map(Monitor::hand_over);
            let failure = program::become_program(path, command, changes);
            say(&format!("furwock: {failure}\n"));
            // SAFETY: ends the child at once: what is registered to run at the end is the parent's.
            unsafe { libc::_exit(failure.status) }
        }
        pid => Ok(Pid::from_raw(pid).expect("fork gives the parent no 0")),
    }
}

/// Until the program has ended. Stops while it is stopped, as a shell expects.
fn wait(pid: Pid, signals: &Signals, beside: &mut impl Beside) -> Ended {
    loop {
        while let Ok(Some((_, status))) =
            waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG)
        {
            if let Some(status) = status.exit_status() {
                return Ended::Exited(status);
            }
            if let Some(signal) = status.terminating_signal() {
                return Ended::Killed(signal);
            }
            if status.stopped() {
                let _ = kill_process(rustix::process::getpid(), Number::STOP);
                let _ = kill_process(pid, Number::CONT);
            }
        }
        match signals.next(beside.look().unwrap_or(TICK)) {
            Some(Signal { number: libc::SIGUSR2, .. }) if beside.usr2() => {}
            Some(Signal { number: libc::SIGCHLD, .. }) | None => {}
            // The terminal's have reached the program too.
            Some(Signal { is_kernels: true, .. }) => {}
            Some(signal) => signal.pass_on_to(pid),
        }
    }
}

/// Ends by the signal that the program ended by, without a core of its own.
fn end_by(signal: i32) -> i32 {
    // SAFETY: signal numbers that the kernel gave; all of these act on this process only.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
    128 + signal
}
