//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::bench::arguments::{BenchArguments, completed};
use crate::compare::arguments::CompareArguments;
use crate::doctor::DoctorArguments;
use crate::pages::PagesArguments;
use crate::values::{pid, seconds};
use crate::workloads::WorkloadArguments;
use crate::{examples, notes};

/// Locks and futexes in user space under unmodified programs
///
/// Serves pthread's mutexes, rwlocks, condition variables, semaphores, barriers, once and spin
/// locks. Futexes by libc's syscall are the kernel's, but for waits whose word has changed.
#[derive(Parser)]
#[command(name = "furwock", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Run(RunArguments),
    Who(WhoArguments),
    Stats(StatsArguments),
    Top(TopArguments),
    Report(ReportArguments),
    Compare(CompareArguments),
    Bench(BenchArguments),
    Doctor(DoctorArguments),
    #[command(hide = true)]
    Pages(PagesArguments),
    #[command(hide = true)]
    Workload(WorkloadArguments),
}

/// Run a program on furwock's locks
///
/// Becomes PROGRAM (by exec, so its exit status, signals and standard streams are its own) with
/// furwock's library put first in LD_PRELOAD. Its pthread mutexes, rwlocks, condition variables,
/// semaphores, barriers, once and spin locks are then furwock's, and so are the futexes that it
/// uses by libc's syscall. Programs that a preload cannot reach are refused.
#[derive(Args)]
#[command(after_help = RUN_NOTES, after_long_help = RUN_NOTES)]
pub struct RunArguments {
    /// Run the program even if the preload cannot act on it
    #[arg(long)]
    pub force: bool,

    /// Run the programs that PROGRAM starts on glibc
    #[arg(long)]
    pub no_children: bool,

    /// Count what its locks cost, and print a table on stderr when it ends, and on SIGUSR2
    ///
    /// `furwock stats` and `furwock top` show the figures meanwhile. With FILE they are kept
    /// there, for `furwock report`. furwock then stays as the program's parent, passes signals on,
    /// and ends as the program does.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "")]
    pub stats: Option<OsString>,

    /// Report locks taken in orders that could deadlock, when it ends, and on SIGUSR2
    ///
    /// Also threads that take what they hold, and waits with a lock held that the waking thread
    /// needs: though they did not deadlock this time. With FILE the record is kept there, for
    /// `furwock report`.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "")]
    pub lock_order: Option<OsString>,

    /// With --lock-order: leave out what this file describes
    #[arg(long, value_name = "FILE", requires = "lock_order")]
    pub suppressions: Option<PathBuf>,

    /// With --lock-order: count locks that were made at one place as one
    ///
    /// What is only a hint otherwise is a possible deadlock then: two threads that take locks of
    /// two makes in different orders, though never the same ones.
    #[arg(long, requires = "lock_order")]
    pub by_place: bool,

    /// With --lock-order: exit with 3 if something could deadlock
    #[arg(long, requires = "lock_order")]
    pub fail: bool,

    /// Never spin for a lock whose owner has no processor: the kernel tells which threads have one
    ///
    /// A BPF program on the scheduler's switches notes it while furwock stays as the program's
    /// parent. That needs root, or CAP_BPF and CAP_PERFMON; where it is impossible furwock says
    /// so, and the program runs without it. It makes each switch of the whole system a little
    /// slower (docs/monitor.md).
    #[arg(long)]
    pub monitor: bool,

    /// The program, looked up in PATH, and its arguments, passed on untouched
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// Show which threads wait for which, in any running process
///
/// Each blocked thread, what it waits for (a mutex, rwlock, condvar, semaphore, barrier, another
/// thread's end, a file), which thread holds it, and in which functions both are. Threads that wait
/// in a circle, or that none is left to wake, are reported as DEADLOCK. The process needn't run on
/// furwock, and isn't changed; root is not needed for the user's own processes, except where a
/// setting forbids it, which is named then.
///
/// With PROGRAM, starts it, and shows this when its threads have been blocked for a while, or on
/// Ctrl-C or SIGQUIT; then the program goes on.
#[derive(Args)]
#[command(after_help = WHO_NOTES, after_long_help = WHO_NOTES)]
#[command(group = clap::ArgGroup::new("whose").required(true).args(["pid", "all", "command"]))]
pub struct WhoArguments {
    /// Write what was found as JSON to stdout (with PROGRAM: to stderr)
    #[arg(long)]
    pub json: bool,

    /// Look at all of the user's processes, and show those in which threads wait for each other
    #[arg(long)]
    pub all: bool,

    /// With PROGRAM: report threads that have been blocked for so long [default: 5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "command")]
    pub after: Option<Duration>,

    /// With PROGRAM: kill it when it is in a deadlock, and exit with 3
    #[arg(long, requires = "command")]
    pub kill: bool,

    /// The process to look at
    #[arg(value_name = "PID", value_parser = pid)]
    pub pid: Option<i32>,

    /// A program to start, looked up in PATH, and its arguments, passed on untouched
    #[arg(value_name = "PROGRAM", last = true)]
    pub command: Vec<OsString>,
}

/// Show what the locks of a recorded program cost
///
/// A table of the locks that threads had to wait for, with the stacks of the worst, as `furwock run
/// --stats` prints it at the end: of a process that runs, or of a file that it has written.
#[derive(Args)]
#[command(after_help = RECORD_NOTES, after_long_help = RECORD_NOTES)]
pub struct StatsArguments {
    /// Write the figures as JSON
    #[arg(long)]
    pub json: bool,

    /// A process that was started with `furwock run --stats`, or a file (./4711 if it is digits)
    #[arg(value_name = "PID|FILE")]
    pub source: String,
}

/// Watch what the locks of a recorded program cost
///
/// A table of rates since the last look, refreshed each second: operations, the share that had to
/// wait, waits, how many threads waited on average, how many wait now. Keys sort it (w c o s l n),
/// filter it (/), open one lock (Enter) with its stacks and waiters, freeze it (f), and quit (q).
/// Writes plain lines if its output is no terminal.
#[derive(Args)]
#[command(after_help = RECORD_NOTES, after_long_help = RECORD_NOTES)]
pub struct TopArguments {
    /// Write lines at each interval, as without a terminal
    #[arg(long)]
    pub lines: bool,

    /// End after N intervals of lines
    #[arg(short = 'n', long, value_name = "N", requires = "lines")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Option<u32>,

    /// Time between looks [default: 1]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    pub interval: Option<Duration>,

    /// A process that was started with `furwock run --stats`
    #[arg(value_name = "PID", value_parser = pid)]
    pub pid: i32,
}

/// Explain where a recorded program's threads waited
///
/// Reads a file that `furwock run --stats=FILE` has written, also while the program runs or after
/// it was killed, and says in sentences which locks cost most, which threads held them longest and
/// where, and which holders waited themselves.
#[derive(Args)]
#[command(after_help = RECORD_NOTES, after_long_help = RECORD_NOTES)]
pub struct ReportArguments {
    /// Write a page to FILE: charts, a timeline, a flame graph; one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the stacks of waits with their microseconds to FILE, for flame graph tools
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,

    /// Write the last waits to FILE as a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Only the order of locks, of a program that ran with --lock-order: exits with 3 if something
    /// could deadlock
    #[arg(long)]
    pub lock_order: bool,

    /// With --lock-order: count locks that were made at one place as one
    #[arg(long, requires = "lock_order")]
    pub by_place: bool,

    /// With --lock-order: as JSON
    #[arg(long, requires = "lock_order")]
    pub json: bool,

    /// Leave out what this file describes of the order of locks
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,

    /// The file that `furwock run --stats=FILE` or `--lock-order=FILE` wrote
    #[arg(value_name = "FILE")]
    pub record: PathBuf,
}

impl Arguments {
    pub fn parsed() -> Result<Self, clap::Error> {
        if let Some(arguments) = Self::of_run() {
            return Ok(arguments);
        }
        Arguments::from_arg_matches(&Self::whole().try_get_matches()?)
    }

    /// The whole command line, with help for this terminal.
    pub fn whole() -> clap::Command {
        notes::set(Self::plain())
    }

    /// The whole command line, with help as it is written.
    pub fn plain() -> clap::Command {
        examples::added(Arguments::command().mut_subcommand("bench", completed))
    }

    /// What `furwock run` was told, if nothing is wrong with it and no help is asked for: without
    /// the other commands' descriptions, which take longer to make than programs' whole runs.
    fn of_run() -> Option<Self> {
        let mut words = std::env::args_os().skip(1).peekable();
        words.next_if(|word| word == "run")?;
        let command = RunArguments::augment_args(clap::Command::new("run").no_binary_name(true));
        let matches = command.try_get_matches_from(words).ok()?;
        let arguments = RunArguments::from_arg_matches(&matches).ok()?;
        Some(Self { command: Command::Run(arguments) })
    }
}

/// What `furwock bench` can run.
pub fn benchmarks() -> Vec<String> {
    let command = Arguments::command();
    let bench = command.find_subcommand("bench");
    let subcommands = bench.into_iter().flat_map(clap::Command::get_subcommands);
    subcommands.map(|each| each.get_name().to_owned()).filter(|name| name != "help").collect()
}

const RUN_NOTES: &str = "\
Environment:
  FURWOCK_PRELOAD  path of furwock's library. Without it, libfurwock_preload.so is looked for
                   beside this executable, then in ../lib/furwock/ from the executable's folder.
  FURWOCK_FUTEX    0 leaves all of the program's calls of syscall(SYS_futex, ...) to the kernel.
                   Otherwise furwock answers those that wait, without a timeout, on a private word
                   that has changed.
  FURWOCK_CHILDREN 0 removes furwock from LD_PRELOAD in the program's environment, so that programs
                   that it starts run on glibc. --no-children sets it.
  FURWOCK_WARN_AFTER
                   a time such as 10s or 500ms: threads that wait longer for a lock say so on
                   stderr, with the thread that holds it and what that waits for in turn.
  FURWOCK_RECORD, FURWOCK_LOCK_ORDER
                   are set by --stats and --lock-order, for furwock's library.
  FURWOCK_MONITOR  is set by --monitor, for furwock's library.
  FURWOCK_QUIET    1 suppresses lines about long waits, and the message on stderr that the program
                   runs on glibc.
  LD_PRELOAD       is kept; furwock's library is put first.

Exit status:
  125  furwock itself failed: bad usage, library missing, or without --force a program that a
       preload cannot reach (static, setuid, other architecture, linked with musl, on a glibc
       older than the library's, in a root without it) or would disturb (ThreadSanitizer,
       AddressSanitizer, valgrind)
  126  PROGRAM was found but cannot be executed
  127  PROGRAM was not found
  3    with --fail, if locks were taken in orders that could deadlock
  else the status of PROGRAM";

const WHO_NOTES: &str = "\
Exit status:
  0    no deadlock
  1    the process couldn't be looked at: it doesn't exist, has ended, or that isn't permitted
  2    bad usage
  3    a deadlock
  With PROGRAM: 3 if it was found in a deadlock, otherwise its status; 128 and the signal's number
  if a signal ended it; 126 and 127 as for `furwock run`. A second Ctrl-C within two seconds goes
  to the program.";

const RECORD_NOTES: &str = "\
Exit status:
  0    done
  1    there is no record, or it can't be read or not as a whole: not a record, of another version,
       damaged, cut off; what can be read is shown
  2    bad usage";
