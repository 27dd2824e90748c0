//! What the command line of `furwock bench` may say.

use std::path::PathBuf;

use clap::{Args, FromArgMatches, Subcommand};

use super::common::Outputs;
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

impl BenchArguments {
    /// From the words after `furwock bench`.
    pub fn parsed(words: impl IntoIterator<Item = String>) -> Result<Self, clap::Error> {
        let command = BenchArguments::augment_args(clap::Command::new("furwock bench"));
        let words = std::iter::once("furwock bench".to_owned()).chain(words);
        BenchArguments::from_arg_matches(&command.try_get_matches_from(words)?)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::contestant::Contestant;
    use crate::bench::sections::Sections;
    use std::time::Duration;

    fn parsed(words: &str) -> Result<Bench, String> {
        let words = words.split_whitespace().map(str::to_owned);
        let parsed = BenchArguments::parsed(words).map_err(|error| error.to_string())?;
        Ok(parsed.bench.unwrap())
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
