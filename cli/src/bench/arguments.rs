//! What the command line of `furwock bench` may say.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::case::Sections;
use super::contestant::Contestant;
use crate::args::seconds;

/// Measure furwock's locks against other implementations
///
/// Each round of each implementation is a process of its own; the rounds of all are interleaved, in
/// an order that rotates. Every round checks that the locks did exclude.
#[derive(Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    pub bench: Bench,
}

#[derive(Subcommand)]
pub enum Bench {
    Mutex(MutexArguments),
    Rwlock(RwlockArguments),
    Pair(PairArguments),
}

/// Threads that contend for one mutex
///
/// Without options: about 2 minutes. The tables show medians over the rounds.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct MutexArguments {
    /// Numbers of threads [default: 2,4,16,64]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Microseconds of work inside and outside of the lock [default: 0/0,0.1/0.1,1/1,10/10]
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = Sections::parse)]
    pub sections: Vec<Sections>,

    /// Keep each thread on one CPU, dealt out in turn
    #[arg(long)]
    pub pin: bool,

    #[command(flatten)]
    pub common: Common,
}

/// Threads that read and write behind one reader-writer lock
///
/// Without options: about 2 minutes. The tables show medians over the rounds. Which operations are
/// writes is drawn at random, the same draws for all implementations in a round.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct RwlockArguments {
    /// Numbers of threads [default: 2,16; with --full 2,4,16]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,

    /// Percentages of writes [default: 0,1,10,50; with --full 0,0.1,1,10,50]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = percentage)]
    pub writes: Vec<f64>,

    /// Microseconds of work inside the lock, and outside of it if named [default: 0,2; with --full
    /// 0,0.2,2]
    #[arg(long, value_name = "CS[/NCS],...", value_delimiter = ',', value_parser = Sections::parse)]
    pub sections: Vec<Sections>,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Common {
    /// Implementations, of furwock, furwock-preload, glibc, std, parking_lot, usync, nsync
    /// [default: all that are here]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',', value_parser = Contestant::parse)]
    pub implementations: Vec<Contestant>,

    /// Rounds of each implementation in each case [default: 3; with --full 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// How long a round measures
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    pub seconds: Duration,

    /// The whole grid, 6 to 9 minutes on a quiet machine; lists that are given replace its own
    #[arg(long)]
    pub full: bool,

    /// Give up on a round that takes longer [default: 30 more than it measures]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Write the machine, every round and the summary as JSON to FILE, or to stdout with `-`
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// One thread that locks and unlocks when nobody else wants the lock
///
/// Nanoseconds for a pair of calls: mutex, read lock and write lock, beside what none can go below,
/// a bare compare-and-exchange and an exchange. All take turns in one process, in slices of less than
/// a millisecond; furwock-preload, which needs a process of its own, in another after it.
#[derive(Args)]
#[command(after_help = NOTES, after_long_help = NOTES)]
pub struct PairArguments {
    /// Implementations, of furwock, furwock-preload, glibc, std, parking_lot, usync, nsync
    /// [default: all that are here]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',', value_parser = Contestant::parse)]
    pub implementations: Vec<Contestant>,

    /// Rounds, of about 0.4 seconds each
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Write the machine, every round and the summary as JSON to FILE, or to stdout with `-`
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn threads(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(count @ 1..=4096) => Ok(count),
        _ => Err("not a number of threads between 1 and 4096".to_owned()),
    }
}

fn percentage(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("not a percentage between 0 and 100".to_owned()),
    }
}

const NOTES: &str = "\
Implementations:
  furwock          the crate's locks, linked in
  furwock-preload  pthread's, with furwock's library in LD_PRELOAD as by `furwock run`
  glibc            pthread's, the system's own
  std, parking_lot, usync
                   Rust's standard library and two crates, linked in
  nsync            the C library (Debian: libnsync1), if it is here

Rounds:
  A round during which a CPU was away for more than 1 ms (probed before and after) is run again, at
  most once for each implementation in each case; what was dropped or kept is reported.
  A round whose check fails, or that hangs, shows as FAILED with the reason below the tables.

Environment:
  FURWOCK_PRELOAD  see `furwock run --help`

Exit status:
  0    measured
  1    a round failed or hung
  2    bad usage
  125  furwock-preload was asked for, but furwock's library is missing
  130  interrupted; what had been measured was printed";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn parsed(words: &str) -> Result<Bench, String> {
        let words = ["furwock", "bench"].into_iter().chain(words.split_whitespace());
        match Arguments::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Bench(arguments) => Ok(arguments.bench),
            _ => unreachable!("the words say bench"),
        }
    }

    #[test]
    fn lists_are_taken_apart() {
        let words = "mutex --impl furwock,std --threads 2,64 --sections 0.1/1,5/0 --pin";
        let Ok(Bench::Mutex(arguments)) = parsed(words) else { panic!("{words}") };
        assert_eq!(arguments.common.implementations, [Contestant::Furwock, Contestant::Std]);
        assert_eq!(arguments.threads, [2, 64]);
        assert_eq!(
            arguments.sections,
            [
                Sections { critical_us: 0.1, other_us: 1.0 },
                Sections { critical_us: 5.0, other_us: 0.0 }
            ]
        );
        assert!(arguments.pin && !arguments.common.full);
        let Ok(Bench::Rwlock(arguments)) = parsed("rwlock --writes 0.1,100") else { panic!() };
        assert_eq!(arguments.writes, [0.1, 100.0]);
    }

    #[test]
    fn bad_lists_are_named() {
        let error = |words| parsed(words).err().unwrap();
        let unknown = error("mutex --impl furwock,spinny");
        assert!(unknown.contains("spinny") && unknown.contains("parking_lot"), "{unknown}");
        assert!(!unknown.contains("broken"), "{unknown}");
        assert!(error("mutex --threads 2,0").contains("number of threads"));
        assert!(error("mutex --sections 1/x").contains("microseconds"));
        assert!(error("rwlock --writes 101").contains("percentage"));
        assert!(error("rwlock --rounds 0").contains("--rounds"));
        assert!(parsed("mutex --writes 1").is_err());
    }
}
