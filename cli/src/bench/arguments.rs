//! What the command line of `furwock bench` may say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::contestant::Contestant;
use super::memory::MemoryArguments;
use super::scaling::ScalingArguments;
use super::seeds::SeedsArguments;
use super::workloads::condvars::{CondArguments, PpArguments, QueueArguments};
use super::workloads::many::{PingpongArguments, WaitsetArguments, WaitvArguments};
use super::workloads::mutex::MutexArguments;
use super::workloads::pair::PairArguments;
use super::workloads::rwlock::RwlockArguments;
use super::workloads::semaphores::{BarrierArguments, SemArguments};
use super::workloads::words::{
    HashArguments, LockPiArguments, RequeueArguments, WakeArguments, WakeParallelArguments,
};
use crate::args::seconds;
use crate::measuring::output::check_writable;

/// Measure furwock against other implementations
///
/// Each round of each implementation is a process of its own; the rounds of all are interleaved, in
/// an order that rotates. Every round checks its own result.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct BenchArguments {
    #[command(subcommand)]
    pub bench: Option<Bench>,

    /// Compare with an earlier run, as --json wrote it; without a workload, run what was run then
    #[arg(long, value_name = "FILE", global = true)]
    pub baseline: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Bench {
    Seeds(SeedsArguments),
    Scaling(ScalingArguments),
    Memory(MemoryArguments),
    Mutex(MutexArguments),
    Rwlock(RwlockArguments),
    Pair(PairArguments),
    Cond(CondArguments),
    Pp(PpArguments),
    Queue(QueueArguments),
    Sem(SemArguments),
    Barrier(BarrierArguments),
    Pingpong(PingpongArguments),
    Waitset(WaitsetArguments),
    Waitv(WaitvArguments),
    Hash(HashArguments),
    Wake(WakeArguments),
    WakeParallel(WakeParallelArguments),
    Requeue(RequeueArguments),
    LockPi(LockPiArguments),
}

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

impl Bench {
    /// The options that say where results go.
    pub fn outputs(&mut self) -> &mut Outputs {
        match self {
            Bench::Seeds(arguments) => &mut arguments.outputs,
            Bench::Scaling(arguments) => &mut arguments.outputs,
            Bench::Memory(arguments) => &mut arguments.outputs,
            Bench::Pair(arguments) => &mut arguments.outputs,
            Bench::Mutex(MutexArguments { common, .. })
            | Bench::Rwlock(RwlockArguments { common, .. })
            | Bench::Cond(CondArguments { common, .. })
            | Bench::Pp(PpArguments { common, .. })
            | Bench::Queue(QueueArguments { common, .. })
            | Bench::Sem(SemArguments { common, .. })
            | Bench::Barrier(BarrierArguments { common, .. })
            | Bench::Pingpong(PingpongArguments { common, .. })
            | Bench::Waitset(WaitsetArguments { common, .. })
            | Bench::Waitv(WaitvArguments { common, .. })
            | Bench::Hash(HashArguments { common, .. })
            | Bench::Wake(WakeArguments { common, .. })
            | Bench::WakeParallel(WakeParallelArguments { common, .. })
            | Bench::Requeue(RequeueArguments { common, .. })
            | Bench::LockPi(LockPiArguments { common, .. }) => &mut common.outputs,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use crate::bench::sections::Sections;
    use clap::Parser;

    fn parsed(words: &str) -> Result<Bench, String> {
        let words = ["furwock", "bench"].into_iter().chain(words.split_whitespace());
        match Arguments::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Bench(arguments) => Ok(arguments.bench.unwrap()),
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
        assert!(arguments.common.pin && !arguments.common.full);
        let Ok(Bench::Rwlock(arguments)) = parsed("rwlock --writes 0.1,100") else { panic!() };
        assert_eq!(arguments.writes, [0.1, 100.0]);
    }

    #[test]
    fn perfs_options_are_known() {
        let Ok(Bench::Hash(arguments)) = parsed("hash -t 2 -f 512 -r 1") else { panic!() };
        assert_eq!((&arguments.threads[..], &arguments.futexes[..]), (&[2][..], &[512][..]));
        assert_eq!(arguments.common.seconds, Duration::from_secs(1));
        let Ok(Bench::Wake(arguments)) = parsed("wake -t 32 -w 4") else { panic!() };
        assert_eq!(arguments.nwakes, 4);
        let Ok(Bench::Requeue(arguments)) = parsed("requeue -t 32 -B") else { panic!() };
        assert!(arguments.broadcast);
        assert!(parsed("requeue -t 32 -q 8").is_ok() && parsed("wake-parallel -t 8 -w 2").is_ok());
        assert!(parsed("lock-pi -t 4 -M").is_ok());
        let Ok(Bench::Cond(arguments)) = parsed("cond -r 100 -n 200") else { panic!() };
        assert_eq!((arguments.broadcasts, &arguments.threads[..]), (Some(100), &[200][..]));
        assert!(parsed("pp -n 128 -i 1000 -S 32768").is_ok());
    }

    #[test]
    fn bad_lists_are_named() {
        let error = |words| parsed(words).err().unwrap();
        let unknown = error("mutex --impl furwock,parkinglot");
        assert!(unknown.contains("did you mean parking_lot?"), "{unknown}");
        assert!(unknown.contains("event-listener") && !unknown.contains("broken"), "{unknown}");
        assert!(error("mutex --threads 2,0").contains("number of threads"));
        assert!(error("mutex --sections 1/x").contains("microseconds"));
        assert!(error("rwlock --writes 101").contains("percentage"));
        assert!(error("rwlock --rounds 0").contains("--rounds"));
        assert!(error("queue --threads 4").contains("4/4"));
        assert!(parsed("mutex --writes 1").is_err());
    }
}
