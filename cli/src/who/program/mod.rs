//! `furwock who -- PROGRAM`: starts it, and looks when its threads are blocked for a while, or on
//! request.

mod still;
mod terminal;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::chains::{ThreadId, Verdict, World};
use super::stacks::Symbols;
use super::{STATUS_DEADLOCK, picture};
use crate::args::WhoArguments;
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::program;
use crate::signals::Signals;
use crate::streams::width_of;
use still::Still;
use terminal::Terminal;

/// How long threads are blocked before they are looked at.
const AFTER: Duration = Duration::from_secs(5);
const TAKEN: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD];
const TICK: Duration = Duration::from_millis(200);
/// A second Ctrl-C within this time is the program's.
const TWICE: Duration = Duration::from_secs(2);

pub fn watch(arguments: &WhoArguments) -> Result<i32, Failure> {
    let signals = Signals::take(TAKEN);
    let child = start(&arguments.command, &signals)?;
    let mut watcher = Watcher {
        pid: child.id() as i32,
        as_json: arguments.json,
        symbols: Symbols::default(),
        reported: BTreeSet::new(),
        found: false,
    };
    watcher.watch(child, &signals, arguments.after.unwrap_or(AFTER), arguments.kill)
}

fn start(command: &[OsString], signals: &Signals) -> Result<Child, Failure> {
    let path = program::find(&command[0])?;
    let as_found = signals.found();
    let mut starting = Command::new(&path);
    starting.arg0(&command[0]).args(&command[1..]).process_group(0);
    // SAFETY: `restore` makes system calls only.
    unsafe { starting.pre_exec(move || as_found.restore()) };
    starting.spawn().map_err(|error| program::not_executable(&path, &error))
}

struct Watcher {
    pid: i32,
    as_json: bool,
    symbols: Symbols,
    /// Sets of threads that have been reported.
    reported: BTreeSet<Vec<ThreadId>>,
    found: bool,
}

impl Watcher {
    fn watch(
        &mut self,
        mut child: Child,
        signals: &Signals,
        after: Duration,
        kill: bool,
    ) -> Result<i32, Failure> {
        let mut still = Still::new(after);
        let mut terminal = Terminal::of(self.pid);
        let mut asked: Option<Instant> = None;
        loop {
            if let Some(status) = child.try_wait().map_err(|error| lost(&error))? {
                return Ok(if self.found { STATUS_DEADLOCK } else { own(status) });
            }
            match signals.next(TICK).map(|signal| signal.number) {
                Some(libc::SIGINT) if asked.is_some_and(|asked| asked.elapsed() < TWICE) => {
                    send(self.pid, libc::SIGINT);
                }
                Some(libc::SIGINT | libc::SIGQUIT) => {
                    asked = Some(Instant::now());
                    for pid in group(self.pid) {
                        self.look(pid, true);
                    }
                }
                Some(libc::SIGCHLD) | None => terminal.lend_if_wanted(),
                Some(signal) => send(self.pid, signal),
            }
            for pid in still.processes(&group(self.pid)) {
                self.look(pid, still.is_whole(pid));
            }
            if kill && self.found {
                send(self.pid, libc::SIGKILL);
                let _ = child.wait();
                return Ok(STATUS_DEADLOCK);
            }
        }
    }

    /// Shows a process: if it is asked for, or in a deadlock that hasn't been shown.
    fn look(&mut self, pid: i32, is_asked: bool) {
        let Ok(world) = World::look(pid, &mut self.symbols) else { return };
        let verdict = Verdict::of(&world);
        let mut threads: Vec<ThreadId> =
            verdict.deadlocks.iter().flat_map(|deadlock| deadlock.threads(&world)).collect();
        threads.sort_unstable();
        self.found |= verdict.is_deadlock();
        let is_new = self.reported.insert(threads) && verdict.is_deadlock();
        if !is_asked && !is_new {
            return;
        }
        let text = if self.as_json {
            format!("{:#}\n", picture::document(&world, &verdict, &mut self.symbols))
        } else {
            let width = width_of(std::io::stderr());
            picture::text(&world, &verdict, pid, &mut self.symbols, width)
        };
        crate::streams::say(&text);
    }
}

/// The program's processes: those of its group.
fn group(leader: i32) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // SAFETY: asks only.
    let mut pids: Vec<i32> = pids.filter(|pid| unsafe { libc::getpgid(*pid) } == leader).collect();
    pids.sort_unstable();
    pids
}

fn send(group: i32, signal: i32) {
    // SAFETY: to the program's own group.
    unsafe { libc::kill(-group, signal) };
}

fn own(status: ExitStatus) -> i32 {
    status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(STATUS_OWN_FAILURE)
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(STATUS_OWN_FAILURE, format!("the program can't be waited for: {error}"))
}
