//! Runs the tests of one C program, each in a process of its own.

use crate::build::preload;
use crate::record::{self, Record};
use crate::watchdog::runner::hard_limit_s;
use crate::watchdog::{HARD_LIMIT, watch};
use std::env;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// The harness's word for a test that can't run here.
const EXIT_SKIPPED: i32 = 77;

/// The bound of a test: 20 s, or so many as `CONFORMANCE_BOUND_S` says on a machine that emulates
/// its processor. The programs have watchdogs of their own, of 20 s when they run by hand.
fn limit() -> Duration {
    static LIMIT: OnceLock<Duration> = OnceLock::new();
    *LIMIT.get_or_init(|| match env::var("CONFORMANCE_BOUND_S") {
        Ok(seconds) => {
            Duration::from_secs(seconds.parse().expect("CONFORMANCE_BOUND_S is seconds"))
        }
        Err(_) => Duration::from_secs(20),
    })
}

/// What serves the program's locks.
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
    /// `both`, or the only side on which it holds.
    side: String,
    /// Why it holds only there.
    pub reason: String,
    /// The clause of a standard that it checks, if it names one.
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
    let record = (side == Side::Furwock && record::is_asked()).then(Record::of_a_run);
    if let Some(record) = &record {
        if let Some(why) = record::excuse(test) {
            return Ended::Skipped(why.to_owned());
        }
        record.take(&mut command);
    }
    let (status, says) = run_to_end(command, limit());
    let says = says.trim().replace('\n', "; ");
    match status {
        _ if record.is_some_and(|record| record.processes() == 0) => {
            Ended::Failed(format!("records nothing; {says}"))
        }
        Ok(Some(status)) => judge(status, says),
        Ok(None) => Ended::Failed(format!("hangs; {says}")),
        Err(error) => Ended::Failed(error.to_string()),
    }
}

/// Runs `command` in a process group of its own, which doesn't outlive it, for at most `limit`,
/// which the watchdog may extend. Returns how it ended (`None`: by the limit), and its stderr with
/// the watchdog's report.
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
    // A process that outlives the test with the pipe open must not keep us waiting.
    kill_group(&child);
    let (status, report) = watched.heard();
    let says = said.lock().unwrap().clone() + &report.unwrap_or_default();
    (status, says)
}

/// How a program ended, and what it said on stderr.
#[derive(Debug)]
pub struct Run {
    /// `None`: by a signal, or by the limit.
    pub status: Option<i32>,
    /// With the watchdog's report.
    pub stderr: String,
}

impl Run {
    /// Runs `command` as `run_to_end` does.
    pub fn of(command: Command, limit: Duration) -> Self {
        let (status, stderr) = run_to_end(command, limit);
        let status = status.expect("a child can be waited for");
        Self { status: status.and_then(|status| status.code()), stderr }
    }
}

/// What `command` writes on stdout, in a process group of its own. It must end well within `limit`.
pub fn stdout_of(mut command: Command, limit: Duration) -> String {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().expect("the program can be started");
    let mut pipe = child.stdout.take().expect("piped above");
    let reader = thread::spawn(move || {
        let mut says = String::new();
        pipe.read_to_string(&mut says).map(|_| says)
    });
    let status = wait(&mut child, limit).expect("a child can be waited for");
    kill_group(&child);
    let says = reader.join().expect("it reads only").expect("the program prints text");
    assert!(status.is_some_and(|status| status.success()), "{status:?}\n{says}");
    says
}

fn judge(status: ExitStatus, says: String) -> Ended {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Passed,
        (Some(EXIT_SKIPPED), _) => Ended::Skipped(says),
        (_, Some(signal)) => Ended::Failed(format!("died of signal {signal}; {says}")),
        _ => Ended::Failed(says),
    }
}

/// Waits for at most `limit`, which the watchdog may extend with a report on stderr; `None` if the
/// child still runs then.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let watched = watch(child, Some(limit), |line| eprint!("{line}"));
    if let Some(report) = watched.report {
        eprint!("{report}");
    }
    watched.status
}

/// Ends the child, if it is still there, and all that it left behind.
pub fn kill_group(child: &Child) {
    // The shell's kill knows process groups; std's doesn't. An empty group is no error.
    let group = format!("-{}", child.id());
    let mut kill = Command::new("kill");
    kill.args(["-KILL", "--", &group]).stderr(Stdio::null());
    let _ = kill.status();
}
