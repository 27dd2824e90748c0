//! barrier: threads meet at a barrier, round after round, with work of a given length between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use clap::Args;

use super::{Workload, grid};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, SWITCHES_EACH};
use crate::bench::sections::microseconds;
use crate::contestants::barriers::{Barrier, barriers};
use crate::contestants::{Table, choose, names_of};
use crate::harness::watchdog;
use crate::harness::{
    Failed, Figures, Gate, Padded, Parameters, figures, join_all, spawn_all, spin,
};
use crate::values::threads;

/// Threads that meet at a barrier, round after round
///
/// An implementation without barriers is measured with a count, a mutex and a condition variable.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "2,4,16,64")]
    threads: Vec<u32>,

    /// Microseconds of work between two meetings
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = microseconds)]
    #[arg(default_value = "0,10")]
    work: Vec<f64>,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let case = |work: f64, threads: u32| {
            Case::new(
                format!("{work} us x {threads}"),
                [("threads", threads.into()), ("ncs", work)],
                Place::new(format!("{work} us of work between"), threads, "threads"),
            )
        };
        Benchmark {
            title: "Barrier",
            case_key: "Cases: microseconds of work between two meetings x threads.",
            what: "Threads meet at a barrier, work, and meet again.",
            figures: vec![
                Figure::time("seconds_per_round", "time a round"),
                CPU,
                Figure { title: "voluntary context switches a thread and round", ..SWITCHES_EACH },
            ],
            cases: grid(&self.work, &self.threads, case),
            able: names_of(TABLE),
            lacking: "barriers",
            ..Benchmark::named("barrier")
        }
    }
}

struct Plan {
    threads: usize,
    work_loops: u64,
    seconds: f64,
}

struct Shared<B> {
    barrier: B,
    gate: Gate,
    work_loops: u64,
    /// Set by the main thread; the first thread copies it, and all act on it in the same round.
    time_is_up: AtomicBool,
    /// The last round, once it is known.
    last_round: AtomicU64,
    /// Each thread's round, for the check.
    rounds: Box<[Padded<AtomicU64>]>,
}

type Measure = fn(&Plan) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &barriers!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let [work_loops] = given.loops(["ncs"])?;
    let threads = given.count("threads", 2)?;
    let plan = Plan { threads, work_loops, seconds: given.amount("seconds", 0.5)? };
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(&plan)?)
}

fn measure<B: Barrier>(plan: &Plan) -> Result<Figures, String> {
    let threads = u32::try_from(plan.threads).map_err(|_| "too many threads".to_owned())?;
    let shared = Arc::new(Shared {
        barrier: B::new(threads),
        gate: Gate::new(plan.threads),
        work_loops: plan.work_loops,
        time_is_up: AtomicBool::new(false),
        last_round: AtomicU64::new(u64::MAX),
        rounds: (0..plan.threads).map(|_| Padded(AtomicU64::new(0))).collect(),
    });
    let watched = Arc::clone(&shared);
    watchdog::report(move || {
        figures([("rounds_of_first_thread", watched.rounds[0].0.load(Relaxed) as f64)])
    });
    let handles = spawn_all(plan.threads, &shared, meet);
    let usage = shared.gate.start();
    std::thread::sleep(Duration::from_secs_f64(plan.seconds));
    shared.time_is_up.store(true, Relaxed);
    let torn = join_all(handles);
    let used = usage.since();
    let torn: u64 = torn.iter().sum();
    if torn > 0 {
        return Err(format!("the barrier let a thread pass before others had come, {torn} times"));
    }
    let rounds = shared.rounds[0].0.load(Relaxed) as f64;
    let mut all = used.per_operation(rounds * plan.threads as f64);
    all.extend(figures([
        ("rounds_per_second", rounds / used.wall_s),
        ("seconds_per_round", used.wall_s / rounds),
    ]));
    Ok(all)
}

/// One thread; returns how often the barrier let it pass too early.
fn meet<B: Barrier>(shared: &Shared<B>, index: usize) -> u64 {
    // One thread decides which round is the last; the barrier itself publishes it to the others.
    let decides = index == 0;
    let neighbour = &shared.rounds[(index + 1) % shared.rounds.len()].0;
    let mut torn = 0;
    shared.gate.pass();
    for round in 1.. {
        spin(shared.work_loops);
        if decides && shared.time_is_up.load(Relaxed) && shared.last_round.load(Relaxed) == u64::MAX
        {
            shared.last_round.store(round, Relaxed);
        }
        shared.rounds[index].0.store(round, Relaxed);
        shared.barrier.wait();
        // All threads have come to this round, and none can be past the next.
        torn += u64::from(!(round..=round + 1).contains(&neighbour.load(Relaxed)));
        if shared.last_round.load(Relaxed) <= round {
            break;
        }
    }
    torn
}
