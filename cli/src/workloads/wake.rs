//! wake, after `perf bench futex wake`: threads sleep on one word, and the main thread wakes a
//! number of them at a time, until all are awake.

use std::time::Instant;

use clap::Args;

use super::Workload;
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::Figure;
use crate::contestants::wait_queues::{WaitQueue, shared_wait_queues, wait_queues};
use crate::contestants::{Table, choose, names_of};
use crate::harness::sleepers::{Plan, Sleepers, cpu_time, repeat};
use crate::harness::{Failed, Figures, Parameters, Usage, figures};
use crate::statistics::median;
use crate::values::{count, threads};

/// Threads that sleep on one word are woken
///
/// As `perf bench futex wake`: the time until the waker has woken all. Also the waker's processor
/// time, and the time until the last thread is awake, which ranks if a call wakes many.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads that sleep
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "4,64,256")]
    threads: Vec<u32>,

    /// How many to wake at a time
    #[arg(short = 'w', long, value_name = "N", default_value = "1", value_parser = count)]
    nwakes: u32,

    /// Process-shared words: kernel futexes for all
    #[arg(short = 'S', long)]
    shared: bool,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let cases = self.threads.iter().map(|threads| case(*threads, self.nwakes)).collect();
        benchmark(cases, self.nwakes > 1).shared_if(self.shared, names_of(SHARED))
    }
}

pub const LAST_AWAKE: Figure = Figure::time("awake_s", "until the last thread is awake");

/// With furwock's own calls a waker of many is done before all are awake: then the time of the last
/// thread ranks.
pub fn benchmark(cases: Vec<Case>, by_the_last: bool) -> Benchmark {
    let waker = [
        Figure::time("wake_s", "until the waker's calls for all have returned"),
        Figure::wait("waker_cpu_s", "the waker's processor time for that"),
    ];
    let mut figures = vec![LAST_AWAKE];
    figures.splice(if by_the_last { 1..1 } else { 0..0 }, waker);
    Benchmark {
        title: "Futex wake",
        case_key: "Cases: threads, and how many are woken at a time.",
        what: "Threads sleep on one word; one thread wakes them. With furwock's own calls a wake \
               of many wakes a few of them, which wake the others: the waker's time and the time \
               until the last is awake differ.",
        figures,
        cases,
        able: names_of(TABLE),
        lacking: "sleepers that can be woken by count",
        ..Benchmark::named("wake")
    }
}

pub fn case(threads: u32, nwakes: u32) -> Case {
    Case::new(
        format!("{threads}, {nwakes} at a time"),
        [("threads", threads.into()), ("nwakes", nwakes.into())],
        Place::new(format!("{nwakes} at a time"), threads, "threads"),
    )
}

type Measure = fn(&Plan, usize) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &wait_queues!(measure);
const SHARED: &Table<Measure> = &shared_wait_queues!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan::take(&mut given, 4)?;
    let at_a_time = given.count("nwakes", 1)?;
    given.finish()?;
    let table = if plan.shared { SHARED } else { TABLE };
    Ok(choose(table, plan.contestant)?(&plan, at_a_time)?)
}

fn measure<Q: WaitQueue>(plan: &Plan, at_a_time: usize) -> Result<Figures, String> {
    let threads = plan.threads;
    let sleepers = Sleepers::<Q>::start(threads);
    let (mut waking, mut waker_cpu, mut awake, mut cpu) = (vec![], vec![], vec![], vec![]);
    let mut miscounted = 0;
    repeat(plan.seconds, || {
        sleepers.put_to_sleep();
        let usage = Usage::now();
        let (start, start_cpu) = (Instant::now(), cpu_time());
        let woken = sleepers.wake(threads, at_a_time);
        waking.push(start.elapsed().as_secs_f64());
        waker_cpu.push((cpu_time() - start_cpu).as_secs_f64());
        if woken != threads {
            sleepers.wake_stragglers();
        }
        sleepers.wait_until_awake();
        awake.push(start.elapsed().as_secs_f64());
        cpu.push(usage.since().cpu_s);
        miscounted += usize::from(woken != threads);
    });
    sleepers.finish();
    check(miscounted, threads)?;
    Ok(figures([
        ("wake_s", median(&waking)),
        ("waker_cpu_s", median(&waker_cpu)),
        ("awake_s", median(&awake)),
        ("cpu_ns_per_op", median(&cpu) * 1e9 / threads as f64),
    ]))
}

/// `miscounted`: the rounds whose wakes didn't count the threads that slept.
pub fn check(miscounted: usize, threads: usize) -> Result<(), String> {
    if miscounted == 0 {
        return Ok(());
    }
    Err(format!("in {miscounted} rounds the wakes did not count {threads} sleepers"))
}
