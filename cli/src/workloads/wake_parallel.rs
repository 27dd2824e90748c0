//! wake-parallel, after `perf bench futex wake-parallel`: threads sleep on one word, and several
//! wakers wake their shares of them at the same time.

use std::sync::{Arc, Barrier};
use std::time::Instant;

use clap::Args;

use super::Workload;
use super::wake::{LAST_AWAKE, check};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::Figure;
use crate::contestants::wait_queues::{WaitQueue, shared_wait_queues, wait_queues};
use crate::contestants::{Table, choose, names_of};
use crate::harness::sleepers::{Plan, Sleepers, cpu_time, repeat};
use crate::harness::{Failed, Figures, Parameters, figures, join_all, spawn};
use crate::measuring::machine::cpus;
use crate::statistics::median;
use crate::values::threads;

/// Threads that sleep on one word are woken by several wakers
///
/// As `perf bench futex wake-parallel`: each waker wakes its share at once. Ranked by the time
/// until the last thread is awake; perf's figure, a waker's time, is beside it.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads that sleep
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "64,256")]
    threads: Vec<u32>,

    /// How many threads wake them [default: the number of CPUs]
    #[arg(short = 'w', long, value_name = "N", value_parser = threads)]
    nwakers: Option<u32>,

    /// Process-shared words: kernel futexes for all
    #[arg(short = 'S', long)]
    shared: bool,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let wakers = self.nwakers.unwrap_or_else(cpus);
        let case = |threads: &u32| {
            // perf's rule too: shares are equal. (Overflow stays too many, and is refused.)
            let threads = threads.checked_next_multiple_of(wakers).unwrap_or(u32::MAX);
            Case::new(
                format!("{threads} by {wakers}"),
                [("threads", threads.into()), ("nwakers", wakers.into())],
                Place::new(format!("{wakers} wakers"), threads, "threads"),
            )
        };
        let benchmark = Benchmark {
            title: "Futex wake, in parallel",
            case_key: "Cases: threads by wakers. (Threads are rounded up to equal shares.)",
            what: "Threads sleep on one word; several threads wake their shares of them at the \
                   same time.",
            figures: vec![
                LAST_AWAKE,
                Figure::time("wake_s", "until a waker's calls for its share have returned"),
                Figure::wait("waker_cpu_s", "a waker's processor time for that"),
            ],
            cases: self.threads.iter().map(case).collect(),
            able: names_of(TABLE),
            lacking: "sleepers that can be woken by count",
            ..Benchmark::named("wake-parallel")
        };
        benchmark.shared_if(self.shared, names_of(SHARED))
    }
}

type Measure = fn(&Plan, usize) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &wait_queues!(measure);
const SHARED: &Table<Measure> = &shared_wait_queues!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan::take(&mut given, 64)?;
    let wakers = given.count("nwakers", 2)?;
    given.finish()?;
    if !plan.threads.is_multiple_of(wakers) {
        let message = format!("nwakers={wakers}: must divide the {} threads evenly", plan.threads);
        return Err(Failed::Parameter(message));
    }
    let table = if plan.shared { SHARED } else { TABLE };
    Ok(choose(table, plan.contestant)?(&plan, wakers)?)
}

fn measure<Q: WaitQueue>(plan: &Plan, wakers: usize) -> Result<Figures, String> {
    let threads = plan.threads;
    let sleepers = Arc::new(Sleepers::<Q>::start(threads));
    let (begin, end) = (Arc::new(Barrier::new(wakers + 1)), Arc::new(Barrier::new(wakers + 1)));
    let (mut waking, mut waker_cpu, mut awake) = (vec![], vec![], vec![]);
    let mut miscounted = 0;
    repeat(plan.seconds, || {
        sleepers.put_to_sleep();
        let spawn_one = |_| {
            let sleepers = Arc::clone(&sleepers);
            let (begin, end) = (Arc::clone(&begin), Arc::clone(&end));
            spawn(0, move || {
                begin.wait();
                let took = wake_share(&sleepers, threads / wakers);
                end.wait();
                took
            })
        };
        let handles: Vec<_> = (0..wakers).map(spawn_one).collect();
        begin.wait();
        sleepers.wait_until_awake();
        let all_awake = Instant::now();
        end.wait();
        let took = join_all(handles);
        let mean = |of: fn(&Took) -> f64| took.iter().map(of).sum::<f64>() / wakers as f64;
        waking.push(mean(|took| took.clock_s));
        waker_cpu.push(mean(|took| took.cpu_s));
        // From the start of the first of them: the main thread may get a processor after them all.
        let first = took.iter().map(|took| took.start).min().unwrap_or(all_awake);
        awake.push((all_awake - first).as_secs_f64());
        let woken: usize = took.iter().map(|took| took.woken).sum();
        miscounted += usize::from(woken != threads);
    });
    Arc::into_inner(sleepers).expect("the wakers are gone").finish();
    check(miscounted, threads)?;
    Ok(figures([
        ("wake_s", median(&waking)),
        ("waker_cpu_s", median(&waker_cpu)),
        ("awake_s", median(&awake)),
    ]))
}

/// What one waker did in a round.
struct Took {
    start: Instant,
    clock_s: f64,
    cpu_s: f64,
    woken: usize,
}

fn wake_share<Q: WaitQueue>(sleepers: &Sleepers<Q>, share: usize) -> Took {
    let (start, start_cpu) = (Instant::now(), cpu_time());
    let woken = sleepers.wake(share, share);
    if woken != share {
        sleepers.wake_stragglers();
    }
    let cpu_s = (cpu_time() - start_cpu).as_secs_f64();
    Took { start, clock_s: start.elapsed().as_secs_f64(), cpu_s, woken }
}
