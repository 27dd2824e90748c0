//! Runs the tests of one C program, each in a process of its own.

use crate::build::preload;
use crate::watchdog::runner::hard_limit_s;
use crate::watchdog::{HARD_LIMIT, watch};
use std::fmt;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The harness's word for a test that can't run here.
const EXIT_SKIPPED: i32 = 77;

/// The bound of a test. The programs have watchdogs of their own, of the same time where nobody
/// watches.
const LIMIT: Duration = Duration::from_secs(20);

/// What stands beneath the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// glibc alone.
    Glibc,
    /// The preload.
    Furwock,
}

impl Side {
    /// The harness's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Side::Glibc => "glibc",
            Side::Furwock => "furwock",
        }
    }

    /// A command that runs `program` on this side.
    pub fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_remove("LD_PRELOAD").env("CONFORMANCE_SIDE", self.name());
        if self == Side::Furwock {
            command.env("LD_PRELOAD", preload());
        }
        command
    }
}

/// One test, as its program lists it.
#[derive(Clone, Debug)]
pub struct Test {
    /// What it checks.
    pub name: String,
    /// `both`, or the only side it holds on.
    side: String,
    /// Why it holds on that side only.
    pub reason: String,
    /// The clause that it is named by, if it is one of a standard's.
    pub clause: Option<Clause>,
}

/// A clause of the standard, as a test cites it.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The function's page.
    pub page: String,
    /// Where on the page.
    pub section: String,
    /// What it says, in our words.
    pub says: String,
}

impl Test {
    /// The tests of `program`.
    pub fn list(program: &Path) -> Vec<Self> {
        let run = Side::Glibc.command(program).output().expect("the program can be started");
        assert!(run.status.success(), "{} lists no tests", program.display());
        let lines = String::from_utf8(run.stdout).expect("names are ASCII");
        lines.lines().map(Self::parse).collect()
    }

    fn parse(line: &str) -> Self {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_else(|| panic!("a line without fields: {line}"));
        let (name, side, reason) = (next(), next(), next());
        // Only the C harness knows clauses.
        let mut cited = || fields.next().unwrap_or_default();
        let clause = Clause { page: cited(), section: cited(), says: cited() };
        let clause = (!clause.page.is_empty()).then_some(clause);
        Self { name, side, reason, clause }
    }

    /// Whether it holds on `side`.
    pub fn holds_on(&self, side: Side) -> bool {
        self.side == "both" || self.side == side.name()
    }
}

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// Well.
    Passed,
    /// It can't run here, for this reason.
    Skipped(String),
    /// By a failed check, a signal, or the watchdog.
    Failed(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Passed => write!(f, "passed"),
            Ended::Skipped(why) => write!(f, "skipped: {why}"),
            Ended::Failed(why) => write!(f, "{why}"),
        }
    }
}

/// Runs `test` of `program`, which lies in the folder of its libraries.
pub fn run(program: &Path, test: &Test, side: Side) -> Ended {
    let mut command = side.command(program);
    command.arg(&test.name).env("CONFORMANCE_DIR", program.parent().expect("a file's folder"));
    let (status, says) = run_to_end(command, LIMIT);
    let says = says.trim().replace('\n', "; ");
    match status {
        Ok(Some(status)) => judge(status, says),
        Ok(None) => Ended::Failed(format!("hangs; {says}")),
        Err(error) => Ended::Failed(error.to_string()),
    }
}

/// Runs `command`, in a process group of its own that doesn't outlive it, for at most `limit`, as
/// the watchdog has it. Returns how it ended (`None`: by the limit), and what it said on stderr,
/// with the watchdog's report.
pub fn run_to_end(
    mut command: Command,
    limit: Duration,
) -> (io::Result<Option<ExitStatus>>, String) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.process_group(0).env(HARD_LIMIT, hard_limit_s(limit).to_string());
    let mut child = command.spawn().expect("the program can be started");
    let said = Arc::new(Mutex::new(String::new()));
    let heard = said.clone();
    let watched = watch(&mut child, Some(limit), move |line| heard.lock().unwrap().push_str(line));
    // A process that outlives the test, and still has the pipe, must not keep us waiting.
    kill_group(&child);
    let (status, report) = watched.heard();
    let says = said.lock().unwrap().clone() + &report.unwrap_or_default();
    (status, says)
}

fn judge(status: ExitStatus, says: String) -> Ended {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Passed,
        (Some(EXIT_SKIPPED), _) => Ended::Skipped(says),
        (_, Some(signal)) => Ended::Failed(format!("died of signal {signal}; {says}")),
        _ => Ended::Failed(says),
    }
}

/// Waits for at most `limit`, as the watchdog has it, which tells of it on stderr; `None` if the
/// child still runs then.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let watched = watch(child, Some(limit), |line| eprint!("{line}"));
    if let Some(report) = watched.report {
        eprint!("{report}");
    }
    watched.status
}

/// Ends whatever the child left behind, and the child if it is still there.
pub fn kill_group(child: &Child) {
    // The shell's kill knows process groups, and std does not. Nobody there is no error.
    let group = format!("-{}", child.id());
    let mut kill = Command::new("kill");
    kill.args(["-KILL", "--", &group]).stderr(Stdio::null());
    let _ = kill.status();
}
