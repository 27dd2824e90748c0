//! The command line of `furwock compare`. Options that hyperfine has too are called as there.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::measuring::output::Outputs;
use crate::values::seconds;

/// Compare glibc's locks with furwock's: a program's run, or built-in workloads
///
/// Runs PROGRAM on glibc and on furwock in turn, in pairs whose order alternates, and compares
/// the two runs of each pair. Without PROGRAM it runs nine built-in workloads in the same way, in
/// 20 seconds; each of them checks its own result.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct CompareArguments {
    /// Pairs of runs [default: as many as fit into 3 seconds, from 10 to 100; 6 of workloads]
    #[arg(short = 'n', long, value_name = "N", visible_alias = "runs", visible_short_alias = 'r')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub pairs: Option<u32>,

    /// At least so many pairs of runs of a program, however long they take [default: 10]
    #[arg(short = 'm', long, value_name = "N", conflicts_with = "pairs")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub min_runs: Option<u32>,

    /// At most so many pairs of runs of a program, however short they are [default: 100]
    #[arg(short = 'M', long, value_name = "N", conflicts_with = "pairs")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub max_runs: Option<u32>,

    /// Runs on each side before the first pair, not counted [default: 1 for a program, else 0]
    #[arg(short = 'w', long, value_name = "N")]
    pub warmup: Option<u32>,

    /// Run CMD by the shell once before the runs of a program (of each value of a parameter)
    #[arg(short = 's', long, value_name = "CMD", requires = "command")]
    pub setup: Option<String>,

    /// Run CMD by the shell before each run, outside of its time
    #[arg(short = 'p', long, value_name = "CMD", requires = "command")]
    pub prepare: Option<String>,

    /// Run CMD by the shell after each run, outside of its time
    #[arg(short = 'C', long, value_name = "CMD", requires = "command")]
    pub conclude: Option<String>,

    /// Run CMD by the shell once after the runs, also if they were interrupted or one failed
    #[arg(short = 'c', long, value_name = "CMD", requires = "command")]
    pub cleanup: Option<String>,

    /// Compare for each number from MIN to MAX, which replaces {NAME} in PROGRAM and the CMDs
    #[arg(short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"])]
    #[arg(action = clap::ArgAction::Append, allow_negative_numbers = true, requires = "command")]
    pub parameter_scan: Vec<String>,

    /// The step of --parameter-scan [default: 1]
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    pub parameter_step_size: Option<String>,

    /// Compare for each value of a list, as in -L threads 1,4,16; repeatable, for all combinations
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "VALUES"])]
    #[arg(action = clap::ArgAction::Append, requires = "command")]
    pub parameter_list: Vec<String>,

    /// Have SHELL run the one word after the options, as in --shell sh -- 'a | b'
    #[arg(short = 'S', long, value_name = "SHELL", requires = "command")]
    pub shell: Option<String>,

    /// Run PROGRAM without a shell: the default
    #[arg(short = 'N', long, conflicts_with = "shell")]
    pub no_shell: bool,

    /// Standard input of each run: a file, or null [default: null, which is /dev/null]
    #[arg(long, value_name = "FILE|null", requires = "command")]
    pub input: Option<PathBuf>,

    /// Standard output of each run: null, pipe (read and discarded), inherit, or a file
    ///
    /// [default: null, which is /dev/null]
    #[arg(long, value_name = "WHERE", requires = "command", conflicts_with = "show_output")]
    pub output: Option<PathBuf>,

    /// Let the program's standard output through: the same as --output inherit
    #[arg(long)]
    pub show_output: bool,

    /// Count runs that end with a status other than 0; signals and hangs still end the comparison
    #[arg(short = 'i', long, requires = "command")]
    pub ignore_failure: bool,

    /// Kill a run that takes longer [default: none for a program, 60 for a built-in workload]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Compare even if the preload cannot act on the program
    #[arg(long)]
    pub force: bool,

    /// Write the machine, every sample and the summary as JSON to FILE, or to stdout with `-`
    #[arg(long, value_name = "FILE", visible_alias = "export-json")]
    pub json: Option<PathBuf>,

    /// Write a line for each side (of each value, or each figure of each workload) as CSV to FILE
    #[arg(long, value_name = "FILE", visible_alias = "export-csv")]
    pub csv: Option<PathBuf>,

    /// Write the tables as Markdown to FILE
    #[arg(long, value_name = "FILE", visible_alias = "export-markdown")]
    pub markdown: Option<PathBuf>,

    /// Write a page with charts to FILE: one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// All built-in workloads, and longer: 5 minutes
    #[arg(long, conflicts_with_all = ["command", "quick"])]
    pub full: bool,

    /// All built-in workloads, shorter: a minute
    #[arg(long, conflicts_with = "command")]
    pub quick: bool,

    /// Only this built-in workload (repeatable; a name, or one case as --list shows it)
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub workload: Vec<String>,

    /// List the built-in workloads
    #[arg(long, conflicts_with = "command")]
    pub list: bool,

    /// Show the wakeup that glibc's condition variables lose (bug 25847), in 25 seconds
    ///
    /// A program of five threads and a condition variable hangs on glibc 2.25 to 2.40 though it has
    /// no fault. The same program runs on furwock, and doesn't.
    #[arg(long, conflicts_with_all = ["command", "quick", "full", "workload", "list", "pairs"])]
    #[arg(conflicts_with_all = ["warmup", "csv", "markdown", "report"])]
    pub lost_wakeup: bool,

    /// The program, looked up in PATH, and its arguments, passed on untouched
    #[arg(value_name = "PROGRAM", trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl CompareArguments {
    pub fn outputs(&self) -> Outputs {
        let (json, csv, report) = (self.json.clone(), self.csv.clone(), self.report.clone());
        Outputs { json, csv, report }
    }
}

const NOTES: &str = "\
Gain:
  glibc's median divided by furwock's, for rates furwock's by glibc's: more than 1 is better for
  furwock everywhere. The interval beside it holds the true gain 19 times of 20 (Wilcoxon's signed
  ranks over the pairs; docs/benchmarks.md). Above 1 furwock is better, below 1 worse; wholly within
  1 % of 1 both are the same; otherwise the runs can't tell: inconclusive. It takes 6 pairs.
  A pair during which a CPU was away for more than 1 ms (probed before and after) is repeated, up to
  a limit. If a fifth of the pairs that count are noisy all the same, that is said first.

Waits:
  --json has the waits of a mutex workload's lock calls (median, p99, p99.9, maximum) and the
  fairness among its threads. Each call is timed; with empty sections one in 64, with sections of
  less than a microsecond one in 16.

Width:
  Tables are as wide as the terminal, or as COLUMNS says; 80 if the output is no terminal.

Environment:
  FURWOCK_PRELOAD, FURWOCK_FUTEX  see `furwock run --help`

Exit status:
  0    compared
  1    a run failed or hung, or a workload's own check failed, on either side
  2    bad usage
  125, 126, 127  as for `furwock run`
  130  interrupted; what had been measured was printed";
