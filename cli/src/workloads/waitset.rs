//! waitset: producers signal events, and each consumer waits for any of them.
//!
//! Each producer has events of its own. It signals one of them, drawn at random, and waits for the
//! answer, an event that only it waits for. A consumer takes a signal and answers its producer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Resource, getrlimit};

use super::{Workload, grid};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, OPERATIONS, SWITCHES_EACH};
use crate::contestants::events::{Events, FdEvents, MonitorEvents, WordEvents};
use crate::contestants::{Contestant, Table, choose, locks, names_of, table, words};
use crate::harness::watchdog;
use crate::harness::{
    Failed, Figures, Gate, Parameters, Random, Waits, figures, join_all, spawn_all, stay_on_one_cpu,
};
use crate::values::{count, pair_of_threads};

/// Producers signal events; each consumer waits for any of them
///
/// Games under Wine do this. An implementation that can't wait for many events is measured with all
/// of them under one mutex, with one condition variable.
#[derive(Args)]
pub struct Arguments {
    /// Producers to consumers
    #[arg(short = 't', long, value_name = "P/C,...", value_delimiter = ',')]
    #[arg(value_parser = pair_of_threads, default_value = "1/1,4/4,16/16")]
    threads: Vec<(u32, u32)>,

    /// Numbers of events
    #[arg(short = 'f', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    #[arg(default_value = "64")]
    words: Vec<u32>,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        benchmark(grid(&self.words, &self.threads, |words, threads| case(threads, words)))
    }
}

pub const IN_KERNEL: Figure = Figure::nanoseconds("system_ns_per_op", "of that in the kernel");
pub const TAIL: Figure = Figure::wait("wait_p999_s", "from signal to answer, 99.9th percentile");

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Waiting for many events",
        draws: true,
        case_key: "Cases: producers to consumers, events.",
        what: "Each producer signals one of its events and waits for the answer; each consumer \
               waits for any of all events, takes a signal and answers.",
        figures: vec![
            OPERATIONS,
            CPU,
            IN_KERNEL,
            SWITCHES_EACH,
            TAIL,
            Figure::wait("wait_max_s", "from signal to answer, the longest of a round"),
        ],
        cases,
        able: names_of(TABLE),
        lacking: "wait for any of many",
        unable: |case, contestant| match contestant {
            // Here the preload is measured by its locks.
            Contestant::FurwockPreload => None,
            _ => unable(case, contestant),
        },
        ..Benchmark::named("waitset")
    }
}

pub fn case((producers, consumers): (u32, u32), words: u32) -> Case {
    Case::new(
        format!("{producers} to {consumers}, {words}"),
        [
            ("producers", producers.into()),
            ("consumers", consumers.into()),
            ("words", words.max(producers).into()),
        ],
        Place::new(format!("{words} events"), producers + consumers, "threads"),
    )
}

/// The kernel's call takes 128 words, and a process has a limit of descriptors.
pub fn unable(case: &Case, contestant: Contestant) -> Option<String> {
    /// Descriptors that a process has besides its events.
    const DESCRIPTORS_BESIDE: u64 = 16;
    let events = case.parameter("words")? + case.parameter("producers")? + 1.0;
    // Of those a consumer waits for all but the producers' own.
    let awaited = case.parameter("words")? + 1.0;
    match contestant {
        Contestant::Kernel | Contestant::FurwockPreload if awaited > 128.0 => {
            Some("futex_waitv takes 128 words at most".to_owned())
        }
        Contestant::Eventfd => {
            let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
            (events as u64 + DESCRIPTORS_BESIDE > most)
                .then(|| format!("a process may have {most} descriptors (ulimit -n)"))
        }
        _ => None,
    }
}

pub struct Plan {
    producers: usize,
    consumers: usize,
    words: usize,
    seed: u64,
    /// All threads on one CPU: a turn then costs a sleep and a wake, whatever the distance between
    /// CPUs.
    one_cpu: bool,
    seconds: f64,
}

impl Plan {
    pub fn take(given: &mut Parameters, threads: usize) -> Result<Self, Failed> {
        let plan = Plan {
            producers: given.count("producers", threads)?,
            consumers: given.count("consumers", threads)?,
            words: given.count("words", 64)?,
            seed: given.take("seed", 1)?,
            one_cpu: given.flag("one_cpu")?,
            seconds: given.amount("seconds", 0.5)?,
        };
        if plan.words < plan.producers {
            let Plan { words, producers, .. } = plan;
            let message = format!("words={words}: fewer than the {producers} producers");
            return Err(Failed::Parameter(message));
        }
        Ok(plan)
    }

    /// The events that consumers wait for: the producers', and the one that ends the round. After
    /// them comes an answer for each producer.
    fn awaited(&self) -> usize {
        self.words + 1
    }

    fn end(&self) -> usize {
        self.words
    }

    fn answer(&self, producer: usize) -> usize {
        self.awaited() + producer
    }

    /// The producer of an event.
    fn owner(&self, event: usize) -> usize {
        event % self.producers
    }
}

struct Shared<E> {
    plan: Plan,
    events: E,
    gate: Gate,
    over: AtomicBool,
    answered: AtomicU64,
}

pub type Measure = fn(Plan) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &table!(measure:
    Furwock => WordEvents<words::Furwock>,
    FurwockPreload | Glibc => MonitorEvents<locks::Pthread>,
    Kernel => WordEvents<words::Kernel>,
    Std => MonitorEvents<locks::Std>,
    ParkingLot => MonitorEvents<locks::ParkingLot>,
    Usync => MonitorEvents<locks::Usync>,
    Nsync => MonitorEvents<locks::Nsync>,
    Absl => MonitorEvents<locks::Absl>,
    Eventfd => FdEvents,
);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan::take(&mut given, 4)?;
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(plan)?)
}

pub fn measure<E: Events>(plan: Plan) -> Result<Figures, String> {
    let threads = plan.producers + plan.consumers;
    let (producers, consumers) = (plan.producers, plan.consumers);
    let seconds = plan.seconds;
    let shared = Arc::new(Shared {
        events: E::new(plan.awaited(), plan.producers)?,
        plan,
        gate: Gate::new(threads),
        over: AtomicBool::new(false),
        answered: AtomicU64::new(0),
    });
    let watched = Arc::clone(&shared);
    watchdog::report(move || figures([("answered", watched.answered.load(Relaxed) as f64)]));
    let consumers = spawn_all(consumers, &shared, |shared, _| consume(shared));
    let producers = spawn_all(producers, &shared, produce);
    let usage = shared.gate.start();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    shared.over.store(true, Relaxed);
    let mut turns = Waits::default();
    let mut produced = 0;
    for (count, waits) in join_all(producers) {
        produced += count;
        turns.add(&waits);
    }
    let used = usage.since();
    // One for each consumer, and each takes one.
    consumers.iter().for_each(|_| shared.events.signal(shared.plan.end()));
    let consumed: u64 = join_all(consumers).iter().sum();
    if consumed != produced {
        return Err(format!("{produced} signals were sent, and {consumed} taken"));
    }
    let operations = produced as f64;
    let mut all = used.per_operation(operations);
    all.extend(figures([
        ("ops_per_second", operations / used.wall_s),
        ("seconds_per_op", used.wall_s / operations),
    ]));
    all.extend(turns.figures(""));
    Ok(all)
}

/// One producer; returns how often it was answered, and how long that took.
fn produce<E: Events>(shared: &Shared<E>, number: usize) -> (u64, Waits) {
    let Shared { plan, events, gate, over, answered } = shared;
    if plan.one_cpu {
        stay_on_one_cpu(0);
    }
    let own = plan.words / plan.producers;
    let mut random = Random::new(plan.seed, number as u64, 0.5);
    let answer = plan.answer(number);
    let (mut count, mut turns) = (0, Waits::default());
    gate.pass();
    while !over.load(Relaxed) {
        let event = number + plan.producers * random.below(own);
        let start = Instant::now();
        events.signal(event);
        events.take_own(answer);
        turns.record(start);
        count += 1;
        answered.store(count, Relaxed);
    }
    (count, turns)
}

/// One consumer; returns how many signals it took.
fn consume<E: Events>(shared: &Shared<E>) -> u64 {
    let Shared { plan, events, gate, .. } = shared;
    if plan.one_cpu {
        stay_on_one_cpu(0);
    }
    let mut waiter = events.waiter();
    let mut taken = 0;
    gate.pass();
    loop {
        let event = events.take(&mut waiter);
        if event == plan.end() {
            return taken;
        }
        taken += 1;
        events.signal(plan.answer(plan.owner(event)));
    }
}
