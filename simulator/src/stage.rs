//! Where a case's threads run: the simulated machine. All that the rest needs of it beside atomics
//! is here.

use std::cell::Cell;

use machine::{Finished, Machine, ProcessorSet, Simulation};

pub use machine::Statistics;

use crate::case::Case;
use crate::figures::Figures;

std::thread_local! {
    /// The hash of the last run's trace.
    static TRACE: Cell<u64> = const { Cell::new(0) };
    /// How many lines of the next run's trace are printed.
    static TRACED: Cell<usize> = const { Cell::new(0) };
    /// Memory nodes of the machine that runs.
    static NODES: Cell<usize> = const { Cell::new(1) };
    /// The id of the first of the case's threads.
    static FIRST: Cell<u32> = const { Cell::new(0) };
}

/// The end of a run is printed by `--trace`: so many lines.
const TRACE_LINES: usize = 2_000;
/// A run that takes so much longer than it should is a livelock.
const PATIENCE: f64 = 20.0;
const PATIENCE_NS: f64 = 2e9;

/// The machine that a case names, by its name or by its file.
fn machine_of(case: &Case) -> Result<Machine, String> {
    let machine = match case.machine.as_str() {
        file if file.ends_with(".toml") => Machine::from_file(file),
        name => Machine::named(name),
    };
    machine.map_err(|error| error.to_string())
}

/// The processors that a case may use: all, or those of the first nodes.
fn allowed(case: &Case, machine: &Machine) -> ProcessorSet {
    let nodes = machine.topology.nodes();
    let used = case.nodes.unwrap_or(nodes).min(nodes);
    (0..used).flat_map(|node| machine.topology.processors_of(node).iter()).collect()
}

/// How many processors a case may use.
pub fn processors(case: &Case) -> Result<usize, String> {
    Ok(allowed(case, &machine_of(case)?).len())
}

/// To be called before a case's locks are made.
pub fn prepare(case: &Case) -> Result<(), String> {
    NODES.set(machine_of(case)?.topology.nodes());
    Ok(())
}

/// Runs the case's threads until all have ended, and counts what the host did for them.
pub fn run<F: FnOnce()>(case: &Case, bodies: impl Iterator<Item = F>) -> Result<Figures, String> {
    let machine = machine_of(case)?;
    let allowed = allowed(case, &machine);
    let places: Vec<usize> = allowed.iter().collect();
    let limit_ns = (case.warmup_us + case.measured_us) * 1e3 * PATIENCE + PATIENCE_NS;
    let simulation = Simulation::new(&machine, case.seed)
        .on(allowed)
        .limit_ns(limit_ns as u64)
        .trace(TRACED.take());
    let finished = simulation.run(|scope| {
        FIRST.set(machine::thread_id() + 1);
        for (index, body) in bodies.enumerate() {
            let thread = scope.thread();
            let place = || [places[index % places.len()]].into_iter().collect();
            let thread = if case.pinned { thread.on(place()) } else { thread };
            thread.spawn(body);
        }
    });
    let Finished { now_ns, total, trace_hash, trace, .. } =
        finished.map_err(|failure| failure.to_string())?;
    TRACE.set(trace_hash);
    trace.iter().for_each(|line| println!("{line}"));
    let figures =
        [("simulated_accesses", total.accesses as f64), ("simulated_s", now_ns as f64 / 1e9)];
    Ok(figures.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Ends the run: its threads stop where they are.
pub fn stop() -> ! {
    machine::stop()
}

/// The costs of an operation, of what was counted meanwhile.
pub fn costs(statistics: &Statistics, operations: f64) -> Figures {
    let far = statistics.transfers_from[2..].iter().sum::<u64>();
    let counts = [
        ("transfers_per_op", statistics.transfers()),
        ("far_transfers_per_op", far),
        ("accesses_per_op", statistics.accesses),
        ("sleeps_per_op", statistics.sleeps),
        ("wake_calls_per_op", statistics.wake_calls),
        ("preemptions_per_op", statistics.preemptions),
        ("migrations_per_op", statistics.migrations),
        ("cpu_ns_per_op", statistics.ran_ns),
    ];
    counts.map(|(name, count)| (name.to_owned(), count as f64 / operations.max(1.0))).into()
}

/// The calling simulated thread's number among the case's, from 0.
pub fn thread_index() -> usize {
    (machine::thread_id() - FIRST.get()) as usize
}

/// Virtual time. Costs none, and lets no other thread run.
pub fn time_ns() -> u64 {
    machine::virtual_ns()
}

/// What was counted so far, of all threads.
pub fn statistics() -> Statistics {
    machine::statistics()
}

/// How many accesses the host has simulated. It needn't make each look of a thread that spins.
pub fn accesses_made() -> u64 {
    machine::accesses_made()
}

/// The memory node that the calling thread runs on.
pub fn this_node() -> usize {
    machine::current_node() as usize
}

pub fn nodes() -> usize {
    NODES.get()
}

/// The hash of the last run's trace.
pub fn last_trace() -> u64 {
    TRACE.get()
}

/// Has the end of the next run's trace printed.
pub fn trace_next_run() {
    TRACED.set(TRACE_LINES);
}
