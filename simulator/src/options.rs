//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Run furwock's locks, and published ones beside them, on simulated machines
///
/// Each cell of the grid is a case of its own in virtual time: the same seed gives the same
/// figures. Without options all workloads run on all machines.
#[derive(Parser)]
#[command(name = "furwock-simulate", version)]
pub struct Options {
    #[command(subcommand)]
    pub hidden: Option<Hidden>,

    /// Machines: names, or files that describe one [default: all that come with it]
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    pub machine: Vec<String>,

    /// Workloads [default: all]
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    pub workload: Vec<String>,

    /// Contestants [default: all]
    #[arg(short, long = "impl", value_name = "LIST", value_delimiter = ',')]
    pub implementations: Vec<String>,

    /// Numbers of threads [default: 1, 4, 16, 64, 256, and those of --load]
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', value_parser = positive)]
    pub threads: Vec<usize>,

    /// Threads for each processor
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = positive)]
    #[arg(default_values_t = [1, 2, 8])]
    pub load: Vec<usize>,

    /// Nanoseconds of work inside/outside of a lock
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = sections)]
    #[arg(default_value = "50/50,1000/1000,10000/10000")]
    pub sections: Vec<(f64, f64)>,

    /// Percentages of writes, for rwlocks
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = percentage)]
    #[arg(default_value = "0,1,10,50")]
    pub writes: Vec<f64>,

    /// Virtual milliseconds that a cell measures [default: 5, with more threads than processors 40]
    #[arg(long, value_name = "MS", value_parser = amount)]
    pub measured: Option<f64>,

    /// A cell ends early after so many million simulated accesses
    #[arg(long, value_name = "N", default_value_t = 3.0, value_parser = amount)]
    pub accesses: f64,

    /// Chooses the schedules
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Processes at a time [default: the host's processors]
    #[arg(short, long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,

    /// Write all outcomes as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a page with tables and pictures
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Print what happens in the one cell that the other options leave
    #[arg(long)]
    pub trace: bool,

    /// Set furwock's constants to other values, one at a time, and say what that does
    #[arg(long, conflicts_with_all = ["validate", "trace", "implementations", "sections"])]
    #[arg(conflicts_with_all = ["writes", "load", "measured", "accesses"])]
    pub sweep: bool,

    /// With --sweep: constants, and the values to try [default: all, and shares of their own]
    #[arg(long, value_name = "NAME[=V/V/...],...", value_delimiter = ',', requires = "sweep")]
    pub constant: Vec<String>,

    /// With --sweep: run nothing, and take the outcomes from files that --json has written
    #[arg(long, value_name = "FILE,...", value_delimiter = ',', requires = "sweep")]
    #[arg(conflicts_with_all = ["machine", "workload", "threads", "json"])]
    pub from: Vec<PathBuf>,

    /// Compare with what was measured and published, instead of running a grid
    #[arg(long, value_name = "PARTS", value_delimiter = ',', num_args = 0.., require_equals = true)]
    #[arg(default_missing_value = "litl,papers,machines")]
    pub validate: Option<Vec<Part>>,

    /// With --validate: a file of `furwock bench --json`, and the machine it was measured on
    #[arg(long, value_name = "MACHINE=FILE", requires = "validate")]
    pub measurement: Vec<String>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// LiTL's figures on 64 cores
    Litl,
    /// The gains of Molnar's and Bueso's tables
    Papers,
    /// In half a minute: whether what holds of the first two still does
    Short,
    /// The files that --measurement names
    Machines,
}

#[derive(Subcommand)]
pub enum Hidden {
    /// Runs one case, given as JSON, and prints its outcome
    #[command(hide = true)]
    Cell { case: String },
}

fn positive(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number) if (1..=4096).contains(&number) => Ok(number),
        _ => Err("not a number from 1 to 4096".to_owned()),
    }
}

fn amount(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(amount) if amount > 0.0 && amount <= 1e6 => Ok(amount),
        _ => Err("not a number above 0".to_owned()),
    }
}

fn percentage(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("not a percentage between 0 and 100".to_owned()),
    }
}

fn sections(text: &str) -> Result<(f64, f64), String> {
    let (critical, other) = text.split_once('/').unwrap_or((text, "0"));
    match (critical.trim().parse::<f64>(), other.trim().parse::<f64>()) {
        (Ok(critical), Ok(other)) if critical >= 0.0 && other >= 0.0 && critical + other < 1e9 => {
            Ok((critical, other))
        }
        _ => Err("not nanoseconds inside/outside of the lock, as in 50/1000".to_owned()),
    }
}
