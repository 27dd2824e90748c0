//! The command line of `furwock bench`.

use std::path::PathBuf;

use clap::{Args, FromArgMatches, Subcommand};

use super::common::NOTES;
use super::memory::MemoryArguments;
use super::pair::PairArguments;
use super::papers::PapersArguments;
use super::quick::QuickArguments;
use super::scaling::ScalingArguments;
use crate::measuring::output::Outputs;
use crate::workloads::Workloads;

/// Measure furwock against other implementations
///
/// Each round of each implementation runs in a process of its own; the rounds of all are
/// interleaved, in rotating order. Every round checks its own result.
///
/// Without a workload it does `furwock bench quick`: about 20 seconds.
#[derive(Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    pub bench: Option<Bench>,

    /// Compare with an earlier run, as --json wrote it; without a workload, repeat that run
    #[arg(long, value_name = "FILE", global = true)]
    pub baseline: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Bench {
    Quick(QuickArguments),
    Papers(PapersArguments),
    Scaling(ScalingArguments),
    Memory(MemoryArguments),
    Pair(PairArguments),
    #[command(flatten)]
    Workload(Workloads),
}

/// The command with the settings that span several options.
pub fn completed(bench: clap::Command) -> clap::Command {
    // `-r` is the original test's own option.
    let cond = |cond: clap::Command| cond.mut_arg("seconds", |arg| arg.short_alias(None));
    let notes = |each: clap::Command| match each.get_name() {
        "scaling" | "memory" | "papers" | "quick" => each,
        _ => each.after_help(NOTES),
    };
    bench.mut_subcommand("cond", cond).mut_subcommands(notes)
}

impl BenchArguments {
    /// From the words after `furwock bench`.
    pub fn parsed(words: impl IntoIterator<Item = String>) -> Result<Self, clap::Error> {
        let command = completed(BenchArguments::augment_args(clap::Command::new("furwock bench")));
        let words = std::iter::once("furwock bench".to_owned()).chain(words);
        BenchArguments::from_arg_matches(&command.try_get_matches_from(words)?)
    }
}

impl Bench {
    /// The options that say where results go.
    pub fn outputs(&mut self) -> &mut Outputs {
        match self {
            Bench::Quick(arguments) => &mut arguments.outputs,
            Bench::Papers(arguments) => &mut arguments.outputs,
            Bench::Scaling(arguments) => &mut arguments.outputs,
            Bench::Memory(arguments) => &mut arguments.outputs,
            Bench::Pair(arguments) => &mut arguments.outputs,
            Bench::Workload(workload) => &mut workload.common_mut().outputs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::common::Common;
    use crate::contestants::Contestant;
    use std::time::Duration;

    fn parsed(words: &str) -> Result<(Benchmark, Common), String> {
        let words = words.split_whitespace().map(str::to_owned);
        let parsed = BenchArguments::parsed(words).map_err(|error| error.to_string())?;
        match parsed.bench {
            Some(Bench::Workload(workload)) => Ok((workload.benchmark(), workload.into_common())),
            _ => Err("not a workload".to_owned()),
        }
    }

    fn names(benchmark: &Benchmark) -> Vec<&str> {
        benchmark.cases.iter().map(|case| case.name.as_str()).collect()
    }

    #[test]
    fn lists_are_taken_apart() {
        let words = "mutex --impl furwock,std --threads 2,64 --sections 0.1/1,5/0 --pin";
        let (mutex, common) = parsed(words).unwrap();
        assert_eq!(common.implementations, [Contestant::Furwock, Contestant::Std]);
        assert_eq!(names(&mutex), ["0.1/1 x 2", "0.1/1 x 64", "5/0 x 2", "5/0 x 64"]);
        assert!(common.pin && !common.full && common.rounds == 3);
        let (rwlock, _) = parsed("rwlock --writes 0.1,100 -t 2 --sections 0").unwrap();
        assert_eq!(names(&rwlock), ["0.1% 0/0 x 2", "100% 0/0 x 2"]);
    }

    #[test]
    fn the_full_grid_is_larger_and_lists_replace_their_own() {
        let count = |words| parsed(words).unwrap().0.cases.len();
        assert_eq!(
            (count("mutex"), count("mutex --full"), count("mutex --full -t 2")),
            (16, 30, 6)
        );
        assert_eq!((count("rwlock"), count("rwlock --full")), (16, 45));
        let rounds = |words| parsed(words).unwrap().1.rounds;
        assert_eq!((rounds("mutex --full"), rounds("mutex --full --rounds 2")), (5, 2));
    }

    #[test]
    fn perfs_options_are_known() {
        let (hash, common) = parsed("hash -t 2 -f 512 -r 1").unwrap();
        assert_eq!((names(&hash), common.seconds), (vec!["2 x 512"], Duration::from_secs(1)));
        assert_eq!(names(&parsed("wake -t 32 -w 4").unwrap().0), ["32, 4 at a time"]);
        assert_eq!(names(&parsed("requeue -t 32 -B").unwrap().0), ["32, all at once"]);
        assert!(parsed("requeue -t 32 -q 8").is_ok() && parsed("wake-parallel -t 8 -w 2").is_ok());
        assert!(parsed("lock-pi -t 4 -M").is_ok() && parsed("hash -S").is_ok());
        let (cond, _) = parsed("cond -r 100 -n 200").unwrap();
        assert_eq!(names(&cond), ["200, released", "200, held"]);
        assert_eq!(cond.cases[0].parameter("rounds"), Some(100.0));
        assert!(parsed("pp -n 128 -i 1000 -S 32768").is_ok());
    }

    #[test]
    fn bad_lists_are_named() {
        let error = |words| parsed(words).err().unwrap();
        let unknown = error("mutex --impl furwock,parkinglot");
        assert!(unknown.contains("a similar value exists: 'parking_lot'"), "{unknown}");
        assert!(unknown.contains("event-listener") && !unknown.contains("broken"), "{unknown}");
        assert!(error("mutex --threads 2,0").contains("number of threads"));
        assert!(error("mutex --sections 1/x").contains("microseconds"));
        assert!(error("rwlock --writes 101").contains("percentage"));
        assert!(error("rwlock --rounds 0").contains("--rounds"));
        assert!(error("queue --threads 4").contains("4/4"));
        assert!(parsed("mutex --writes 1").is_err());
    }
}
