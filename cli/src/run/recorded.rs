//! A program that is recorded. furwock stays as its parent, in its process group and at its
//! terminal, and ends as it does.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal as Number, WaitOptions, kill_process, waitpid};

use super::holders::Holders;
use super::place::Place;
use crate::args::RunArguments;
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::order::{self, Options};
use crate::program::{self, Changes};
use crate::record::{File, Part, State};
use crate::signals::{Signal, Signals};
use crate::stats;
use crate::streams::{say, width_of};

/// SIGUSR2 asks for the table; the others are the program's, which would be left alone by a parent
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
enum Ended {
    Exited(i32),
    Killed(i32),
}

/// What is recorded, and where.
pub struct Wants {
    file: OsString,
    stats: bool,
    order: Option<Options>,
    /// A possible deadlock changes the status.
    fails: bool,
}

impl Wants {
    pub fn of(arguments: &RunArguments) -> Result<Option<Self>, Failure> {
        let named = |name: &&OsString| !name.is_empty();
        let files = [arguments.lock_order.as_ref(), arguments.stats.as_ref()];
        let named: Vec<&OsString> = files.into_iter().flatten().filter(named).collect();
        if let [one, other] = named[..]
            && one != other
        {
            let says = "--stats and --lock-order are kept in one file: name it once";
            return Err(Failure::new(STATUS_OWN_FAILURE, says));
        }
        if arguments.stats.is_none() && arguments.lock_order.is_none() {
            return Ok(None);
        }
        let order = match &arguments.lock_order {
            Some(_) => Some(
                order::options(arguments.suppressions.as_deref(), arguments.by_place)
                    .map_err(|failure| Failure::new(STATUS_OWN_FAILURE, failure.to_string()))?,
            ),
            None => None,
        };
        let file = named.first().map_or(OsString::new(), |&name| name.clone());
        let stats = arguments.stats.is_some();
        Ok(Some(Self { file, stats, order, fails: arguments.fail }))
    }
}

pub fn run(
    path: &Path,
    command: &[OsString],
    changes: &Changes<'_>,
    wants: &Wants,
) -> Result<i32, Failure> {
    let place = Place::make(&wants.file)?;
    let mut changes = changes.to_vec();
    if wants.order.is_some() {
        changes.push((furwock_record::ORDER_VARIABLE, OsStr::new("1")));
    }
    changes.push((furwock_record::VARIABLE, place.path.as_os_str()));
    let realtime = libc::SIGRTMIN()..=libc::SIGRTMAX();
    let signals = Signals::take(TAKEN.into_iter().chain(realtime));
    let pid = start(path, command, &changes, &signals)?;
    let ended = wait(pid, &signals, &place, wants);
    let may_deadlock = print(&place, wants);
    if let Some(left) = left_running(&place) {
        say(&left);
    }
    // Before this process may be killed.
    drop(place);
    match ended {
        Ended::Exited(_) if may_deadlock && wants.fails => Ok(order::STATUS_FOUND),
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
            say(&format!("furwock: {failure}\n"));
            // SAFETY: ends the child at once: what is registered to run at the end is the parent's.
            unsafe { libc::_exit(failure.status) }
        }
        pid => Ok(Pid::from_raw(pid).expect("fork gives the parent no 0")),
    }
}

/// Until the program has ended. Stops while it is stopped, as a shell expects.
fn wait(pid: Pid, signals: &Signals, place: &Place, wants: &Wants) -> Ended {
    let mut holders = Some(&place.path).filter(|_| wants.stats).and_then(|path| Holders::of(path));
    let mut next_look = Instant::now();
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
        let now = Instant::now();
        if let Some(holders) = holders.as_mut().filter(|_| now >= next_look) {
            holders.look();
            next_look = Instant::now() + holders.pause();
        }
        let time = match holders {
            Some(_) => next_look.saturating_duration_since(Instant::now()),
            None => TICK,
        };
        match signals.next(time) {
            Some(Signal { number: libc::SIGUSR2, .. }) => _ = print(place, wants),
            Some(Signal { number: libc::SIGCHLD, .. }) | None => {}
            // The terminal's have reached the program too.
            Some(Signal { is_kernels: true, .. }) => {}
            Some(signal) => signal.pass_on_to(pid),
        }
    }
}

/// Says that processes which the program has started run on, and whether they are recorded still.
fn left_running(place: &Place) -> Option<String> {
    let record = File::open(&place.path).and_then(|file| file.look()).ok()?;
    let runs = |part: &&Part| part.state == State::Running;
    let (process, them) = match record.parts.iter().filter(runs).count() {
        0 => return None,
        1 => ("1 process still runs".to_owned(), "it"),
        count => (format!("{count} processes still run"), "them"),
    };
    let shown = if place.is_temporary() {
        format!("nothing more of {them} will be shown: --stats=FILE keeps the record")
    } else {
        format!("`furwock report` will show what comes of {them}")
    };
    Some(format!("\n{process}; {shown}\n"))
}

/// The table and the order, on stderr. The program's end matters more than a record that can't be
/// read. Returns whether something could deadlock.
fn print(place: &Place, wants: &Wants) -> bool {
    let looked = File::open(&place.path).and_then(|file| stats::whole(&file));
    match looked {
        Ok(record) => {
            if wants.stats {
                say(&stats::text(&record, width_of(std::io::stderr())));
            }
            let report = wants.order.as_ref().map(|known| order::report(&record, known));
            let (text, may_deadlock) = report.unwrap_or_default();
            say(&text);
            stats::warn(&record, &place.path.display().to_string());
            may_deadlock
        }
        Err(failure) => {
            say(&format!("furwock: {failure}\n"));
            false
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
