//! The options that all benchmarks have.

use std::time::Duration;

use clap::Args;

use crate::contestants::Contestant;
use crate::measuring::output::Outputs;
use crate::values::seconds;

/// The end of `--help` of each benchmark.
pub const NOTES: &str = "\
Rounds:
  A round is run again if a CPU was away for more than 1 ms around it (probed before and after),
  at most once for each implementation in each case. The output counts dropped and kept noisy
  rounds. A round whose check fails, or that hangs, shows as FAILED; the reason is below the
  tables. Implementations that are missing are listed below the tables; this is not an error.

Ratios:
  More than 1: furwock is faster. A range, as 0.97–1.08, is inconclusive: it is the ratio's 90 %
  interval (of the rank-sum test over the rounds), and contains 1. With one or two rounds all
  ratios have a ? instead.

Width:
  Tables are as wide as the terminal, or as COLUMNS says; 80 if the output is no terminal.

Environment:
  FURWOCK_PRELOAD  see `furwock run --help`

Exit status:
  0    measured
  1    a round failed or hung
  2    bad usage
  125  furwock-preload was asked for, but furwock's library is missing
  130  interrupted; what had been measured was printed";

// No doc comment: clap would take it for the help of the command that these options are part of.
#[derive(Args)]
pub struct Common {
    /// Implementations to measure [default: all that are installed and can run the workload]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',')]
    pub implementations: Vec<Contestant>,

    /// Rounds of each implementation in each case
    #[arg(long, value_name = "N", default_value_t = 3, default_value_if("full", "true", "5"))]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// How long a round measures, in workloads that don't count turns
    #[arg(
        long,
        short_alias = 'r',
        alias = "runtime",
        value_name = "SECONDS",
        default_value = "0.3"
    )]
    #[arg(value_parser = seconds)]
    pub seconds: Duration,

    /// More cases, if the workload has more, and 5 rounds; options for the cases override it
    #[arg(long)]
    pub full: bool,

    /// Bind each thread to one CPU, in turn
    #[arg(long)]
    pub pin: bool,

    /// Random seed of the first round, in workloads that draw numbers; each round adds 1
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Kill a round that takes longer [default: 30 more than it measures]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    #[command(flatten)]
    pub outputs: Outputs,
}
