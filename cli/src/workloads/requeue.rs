//! requeue, after `perf bench futex requeue`: threads sleep on one word, and the main thread moves
//! a number of them at a time to another, until all are there.

use std::time::Instant;

use clap::Args;

use super::Workload;
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::Figure;
use crate::contestants::wait_queues::WordQueue;
use crate::contestants::words::{self, Words, shared_words};
use crate::contestants::{Contestant, Table, choose, names_of};
use crate::harness::sleepers::{Plan, Sleepers, cpu_time, repeat};
use crate::harness::{Failed, Figures, Parameters, figures};
use crate::statistics::median;
use crate::values::{count, threads};

/// Threads that sleep on one word are moved to another
///
/// As `perf bench futex requeue`: the time until all are moved. (parking_lot moves one or all.)
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads that sleep
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "4,64,256")]
    threads: Vec<u32>,

    /// How many to move at a time
    #[arg(short = 'q', long, value_name = "N", default_value = "1", value_parser = count)]
    nrequeue: u32,

    /// Move all at once
    #[arg(short = 'B', long, conflicts_with = "nrequeue")]
    pub broadcast: bool,

    /// Process-shared words: kernel futexes for all
    #[arg(short = 'S', long)]
    shared: bool,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let case = |threads: &u32| {
            let (at_a_time, how) = match self.broadcast {
                true => (*threads, "all at once".to_owned()),
                false => (self.nrequeue, format!("{} at a time", self.nrequeue)),
            };
            Case::new(
                format!("{threads}, {how}"),
                [("threads", (*threads).into()), ("nrequeue", at_a_time.into())],
                Place::new(how, *threads, "threads"),
            )
        };
        let benchmark = Benchmark {
            title: "Futex requeue",
            case_key: "Cases: threads, and how many are moved at a time.",
            what: "Threads sleep on one word; one thread moves them to another word, where they \
                   stay asleep.",
            figures: vec![
                Figure::time("requeue_s", "until all are moved"),
                Figure::wait("waker_cpu_s", "processor time for that"),
            ],
            cases: self.threads.iter().map(case).collect(),
            able: names_of(TABLE),
            lacking: "waits on words",
            unable: |case, contestant| {
                let (threads, moved) = (case.parameter("threads")?, case.parameter("nrequeue")?);
                let some = moved > 1.0 && moved < threads;
                (contestant == Contestant::ParkingLot && some)
                    .then(|| "it moves one, or all".to_owned())
            },
            ..Benchmark::named("requeue")
        };
        benchmark.shared_if(self.shared, names_of(SHARED))
    }
}

type Measure = fn(&Plan, usize) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &words::words!(measure);
const SHARED: &Table<Measure> = &shared_words!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan::take(&mut given, 4)?;
    let at_a_time = given.count("nrequeue", 1)?;
    given.finish()?;
    let table = if plan.shared { SHARED } else { TABLE };
    Ok(choose(table, plan.contestant)?(&plan, at_a_time)?)
}

fn measure<W: Words>(plan: &Plan, at_a_time: usize) -> Result<Figures, String> {
    let threads = plan.threads;
    let sleepers = Sleepers::<WordQueue<W>>::start(threads);
    let (mut moving, mut cpu) = (vec![], vec![]);
    let mut miscounted = 0;
    repeat(plan.seconds, || {
        sleepers.put_to_sleep();
        let (start, start_cpu) = (Instant::now(), cpu_time());
        let mut moved = 0;
        while moved < threads && !sleepers.are_all_awake() {
            moved += sleepers.queue().requeue(at_a_time.min(threads - moved));
        }
        moving.push(start.elapsed().as_secs_f64());
        cpu.push((cpu_time() - start_cpu).as_secs_f64());
        let woken = sleepers.queue().wake_moved();
        miscounted += usize::from((moved, woken) != (threads, threads));
        sleepers.wait_until_awake();
    });
    sleepers.finish();
    if miscounted > 0 {
        return Err(format!(
            "in {miscounted} rounds not all of {threads} sleepers were moved and woken"
        ));
    }
    Ok(figures([("requeue_s", median(&moving)), ("waker_cpu_s", median(&cpu))]))
}
