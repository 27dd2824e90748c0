//! A program that is recorded. furwock stays as its parent, in its process group and at its
//! terminal, and ends as it does.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal as Number, WaitOptions, kill_process, waitpid};

use super::place::Place;
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::program::{self, Changes};
use crate::record::File;
use crate::signals::{Signal, Signals};
use crate::stats;

/// SIGUSR2 asks for the table; the others are the program's.
const TAKEN: [i32; 10] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGCHLD,
];
/// A signal that is lost costs no more than this.
const TICK: Duration = Duration::from_secs(1);

/// How the program ended.
enum Ended {
    Exited(i32),
    Killed(i32),
}

pub fn run(
    path: &Path,
    command: &[OsString],
    changes: &Changes<'_>,
    file: &OsStr,
) -> Result<i32, Failure> {
    let place = Place::make(file)?;
    let mut changes = changes.to_vec();
    changes.push((furwock_record::VARIABLE, place.path.as_os_str()));
    let signals = Signals::take(&TAKEN);
    let pid = start(path, command, &changes, &signals)?;
    let ended = wait(pid, &signals, &place);
    print(&place);
    // Before this process may be killed.
    drop(place);
    match ended {
        Ended::Exited(status) => Ok(status),
        Ended::Killed(signal) => Ok(end_by(signal)),
    }
}

fn start(
    path: &Path,
    command: &[OsString],
    changes: &Changes<'_>,
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
            let failure = program::become_program(path, command, changes);
            anstream::eprintln!("furwock: {failure}");
            // SAFETY: ends the child at once: what is registered to run at the end is the parent's.
            unsafe { libc::_exit(failure.status) }
        }
        pid => Ok(Pid::from_raw(pid).expect("fork gives the parent no 0")),
    }
}

/// Until the program has ended. Stops while it is stopped, as a shell expects.
fn wait(pid: Pid, signals: &Signals, place: &Place) -> Ended {
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
        match signals.next(TICK) {
            Some(Signal { number: libc::SIGUSR2, .. }) => print(place),
            Some(Signal { number: libc::SIGCHLD, .. }) | None => {}
            // The terminal's have reached the program too.
            Some(Signal { is_kernels: true, .. }) => {}
            Some(Signal { number, .. }) => send(pid, number),
        }
    }
}

fn send(pid: Pid, signal: i32) {
    // SAFETY: to the program, which hasn't been waited for.
    unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) };
}

/// The table, on stderr. The program's end matters more than a record that can't be read.
fn print(place: &Place) {
    let looked = File::open(&place.path).and_then(|file| stats::whole(&file));
    match looked {
        Ok(record) => {
            anstream::eprint!("{}", stats::text(&record));
            stats::warn(&record, &place.path.display().to_string());
        }
        Err(failure) => anstream::eprintln!("furwock: {failure}"),
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
