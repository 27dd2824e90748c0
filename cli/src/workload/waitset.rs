//! waitset: producers signal events, and consumers each wait for any of them all.
//!
//! Each producer has events of its own, signals one of them by the throw of a die, and waits for the
//! answer, an event that only it waits for; a consumer takes a signal and answers whose event it was.
//! `waitv` is the case of one producer and one consumer, written with the words that libc's `syscall`
//! is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::contest::summarise_waits;
use super::die::Die;
use super::events::{Events, FdEvents, MonitorEvents, WordEvents};
use super::gate::Gate;
use super::histogram::Histogram;
use super::implementation::Implementation;
use super::locks;
use super::parameters::{BadParameter, Parameters};
use super::pinning::stay_on_one_cpu;
use super::pthread::spawn;
use super::report::{Figures, figures};
use super::usage::Usage;
use super::watchdog;
use super::words::{Furwock, Kernel, LibcCall};

struct Plan {
    producers: usize,
    consumers: usize,
    words: usize,
    seed: u64,
    /// All threads on one CPU: then each turn costs what it costs to sleep and to be woken, and not how far
    /// away the other CPU is.
    one_cpu: bool,
    seconds: f64,
    limit_s: f64,
}

impl Plan {
    fn take(
        parameters: &mut Parameters,
        threads: usize,
        words: usize,
    ) -> Result<Self, BadParameter> {
        Ok(Plan {
            producers: parameters.take_count("producers", threads)?,
            consumers: parameters.take_count("consumers", threads)?,
            words: parameters.take_count("words", words)?,
            seed: parameters.take("seed", 1)?,
            one_cpu: parameters.take("one_cpu", 0u32)? != 0,
            seconds: parameters.take_amount("seconds", 0.5)?,
            limit_s: parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?,
        })
    }

    /// The events that consumers wait for: the producers', and the one that ends it all. After them comes
    /// an answer for each producer.
    fn awaited(&self) -> usize {
        self.words + 1
    }

    fn end(&self) -> usize {
        self.words
    }

    fn answer(&self, producer: usize) -> usize {
        self.awaited() + producer
    }

    /// Of the producers' events, whose this one is.
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

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan::take(&mut parameters, 4, 64)?;
    let implementation = Implementation::take(&mut parameters)?;
    parameters.finish()?;
    if plan.words < plan.producers {
        let message = format!("words={}: fewer than the {} producers", plan.words, plan.producers);
        return Err(BadParameter(message));
    }
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(match implementation {
        Implementation::Furwock => measure::<WordEvents<Furwock>>(plan),
        Implementation::Kernel => measure::<WordEvents<Kernel>>(plan),
        Implementation::Eventfd => measure::<FdEvents>(plan),
        Implementation::Pthread => measure::<MonitorEvents<locks::Pthread>>(plan),
        Implementation::Std => measure::<MonitorEvents<locks::Std>>(plan),
        Implementation::ParkingLot => measure::<MonitorEvents<locks::ParkingLot>>(plan),
        Implementation::Usync => measure::<MonitorEvents<locks::Usync>>(plan),
        Implementation::Nsync => measure::<MonitorEvents<locks::Nsync>>(plan),
        Implementation::Absl => measure::<MonitorEvents<locks::Absl>>(plan),
        other => Err(other.lacks("wait for any of many")),
    })
}

pub fn run_waitv(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan::take(&mut parameters, 1, 64)?;
    let implementation = Implementation::take(&mut parameters)?;
    parameters.finish()?;
    Ok(match implementation {
        Implementation::Furwock => measure::<WordEvents<Furwock>>(plan),
        Implementation::Pthread => measure::<WordEvents<LibcCall>>(plan),
        Implementation::Kernel => measure::<WordEvents<Kernel>>(plan),
        Implementation::Eventfd => measure::<FdEvents>(plan),
        other => Err(other.lacks("wait for any of many words")),
    })
}

fn measure<E: Events>(plan: Plan) -> Result<Figures, String> {
    let threads = plan.producers + plan.consumers;
    let (producers, consumers) = (plan.producers, plan.consumers);
    let (seconds, limit_s) = (plan.seconds, plan.limit_s);
    let shared = Arc::new(Shared {
        events: E::new(plan.awaited(), plan.producers)?,
        plan,
        gate: Gate::new(threads),
        over: AtomicBool::new(false),
        answered: AtomicU64::new(0),
    });
    let watched = Arc::clone(&shared);
    watchdog::start(limit_s, move || {
        figures([("answered", watched.answered.load(Relaxed) as f64)])
    });
    let consumers: Vec<_> = (0..consumers)
        .map(|_| {
            let shared = Arc::clone(&shared);
            spawn(0, move || consume(&shared))
        })
        .collect();
    let producers: Vec<_> = (0..producers)
        .map(|number| {
            let shared = Arc::clone(&shared);
            spawn(0, move || produce(&shared, number))
        })
        .collect();
    shared.gate.wait_for_all();
    let usage = Usage::now();
    shared.gate.open();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    shared.over.store(true, Relaxed);
    let mut turns = Histogram::new();
    let mut produced = 0;
    for producer in producers {
        let (count, waits) = producer.join();
        produced += count;
        turns.merge(&waits);
    }
    let used = usage.since();
    // One for each consumer, and each takes one.
    consumers.iter().for_each(|_| shared.events.signal(shared.plan.end()));
    let consumed: u64 = consumers.into_iter().map(|consumer| consumer.join()).sum();
    if consumed != produced {
        return Err(format!("{produced} signals were sent, and {consumed} taken"));
    }
    let operations = produced as f64;
    let mut figures = figures([
        ("ops_per_second", operations / used.wall_s),
        ("seconds_per_op", used.wall_s / operations),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / operations),
        ("system_ns_per_op", used.system_s * 1e9 / operations),
        ("voluntary_per_op", used.voluntary_switches / operations),
        ("involuntary_per_op", used.involuntary_switches / operations),
    ]);
    figures.extend(summarise_waits("", &turns));
    Ok(figures)
}

/// A producer's life; returns how often it was answered, and how long that took.
fn produce<E: Events>(shared: &Shared<E>, number: usize) -> (u64, Histogram) {
    let Shared { plan, events, gate, over, answered } = shared;
    if plan.one_cpu {
        stay_on_one_cpu(0);
    }
    let own = plan.words / plan.producers;
    let mut die = Die::new(plan.seed, number as u64, 0.5);
    let answer = plan.answer(number);
    let (mut count, mut turns) = (0, Histogram::new());
    gate.pass();
    while !over.load(Relaxed) {
        let event = number + plan.producers * die.below(own);
        let start = Instant::now();
        events.signal(event);
        events.take_own(answer);
        turns.record(start.elapsed().as_nanos() as u64);
        count += 1;
        answered.store(count, Relaxed);
    }
    (count, turns)
}

/// A consumer's life; returns how many signals it took.
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
