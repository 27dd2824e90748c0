//! What the command lines of all benchmarks may say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::contestant::Contestant;
use crate::duration::seconds;
use crate::measuring::output::check_writable;

/// Where the results go beside the tables.
#[derive(Args, Default)]
pub struct Outputs {
    /// Write the machine, every round and the summary as JSON to FILE, or to stdout with `-`
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write each figure of each implementation in each case as a line of CSV to FILE
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write a page with charts to FILE: one HTML file that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

impl Outputs {
    /// Says what can't be written before anything is measured. (It is tried again after: a folder may
    /// have been made meanwhile, and the tables are printed in any case.)
    pub fn check(&self) {
        let json = self.json.as_ref().filter(|path| *path != Path::new("-"));
        json.into_iter().chain(&self.csv).chain(&self.report).for_each(|path| warn_of(path));
    }
}

/// For one file.
pub fn warn_of(path: &Path) {
    if let Err(failure) = check_writable(path) {
        anstream::eprintln!("furwock: as it is now, {failure}");
    }
}

#[derive(Args)]
pub struct Common {
    /// Implementations [default: all that can do it and are here]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',', value_parser = Contestant::parse)]
    pub implementations: Vec<Contestant>,

    /// Rounds of each implementation in each case [default: 3; with --full 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// How long a round measures, where it isn't so many turns that are measured
    #[arg(long, short_alias = 'r', alias = "runtime", value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    pub seconds: Duration,

    /// The whole grid, where there is a larger one, and 5 rounds; lists that are given replace its own
    #[arg(long)]
    pub full: bool,

    /// Keep each thread on one CPU, dealt out in turn
    #[arg(long)]
    pub pin: bool,

    /// Where draws begin, in workloads that draw lots; each round has others
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Give up on a round that takes longer [default: 30 more than it measures]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    #[command(flatten)]
    pub outputs: Outputs,
}

pub const NOTES: &str = "\
Implementations:
  furwock          the crate, linked in
  furwock-preload  pthread's functions, and futexes by libc's syscall, with furwock's library in
                   LD_PRELOAD as by `furwock run`
  glibc            pthread's, the system's own
  kernel           the kernel's futexes, with the textbook's locks on them
  std, parking_lot, usync, event-listener
                   Rust's standard library and crates, linked in
  nsync, abseil    the C and C++ libraries (Debian: libnsync1, libabsl*), if they are here
  eventfd          eventfd(2), read or polled
  furwock-table    in `hash`: furwock, where each wait takes its bucket's lock

Rounds:
  A round during which a CPU was away for more than 1 ms (probed before and after) is run again, at
  most once for each implementation in each case; what was dropped or kept is reported.
  A round whose check fails, or that hangs, shows as FAILED with the reason below the tables.
  A ratio with ~ is no difference: medians within 1 %, or rounds that mix (exact rank-sum test, 10 %).

Environment:
  FURWOCK_PRELOAD  see `furwock run --help`

Exit status:
  0    measured
  1    a round failed or hung
  2    bad usage
  125  furwock-preload was asked for, but furwock's library is missing
  130  interrupted; what had been measured was printed";
