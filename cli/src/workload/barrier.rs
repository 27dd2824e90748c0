//! barrier: threads meet at a barrier, round after round, with work of a given length between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::barriers::{Barrier, for_barriers};
use super::gate::Gate;
use super::implementation::Implementation;
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::{Figures, figures};
use super::usage::Usage;
use super::watchdog;
use super::work::{calibrate, spin};

struct Plan {
    threads: usize,
    work_loops: u64,
    seconds: f64,
    limit_s: f64,
}

struct Shared<B> {
    barrier: B,
    gate: Gate,
    work_loops: u64,
    /// Set by the main thread, and acted on by all in the same round: who comes first in a round copies it.
    time_is_up: AtomicBool,
    /// The last round, once it is known.
    last_round: AtomicU64,
    /// Each thread's round, for the check, on a line of its own.
    rounds: Box<[Round]>,
}

#[repr(align(128))]
struct Round(AtomicU64);

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let loops_per_us = parameters.take_amount("loops_per_us", 0.0)?;
    let loops_per_us = if loops_per_us > 0.0 { loops_per_us } else { calibrate() };
    let plan = Plan {
        threads: parameters.take_count("threads", 2)?,
        work_loops: (parameters.take_amount("ncs", 0.0)? * loops_per_us).round() as u64,
        seconds: parameters.take_amount("seconds", 0.5)?,
        limit_s: parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?,
    };
    let implementation = Implementation::take(&mut parameters)?;
    parameters.finish()?;
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(for_barriers!(implementation, measure(&plan)))
}

fn measure<B: Barrier>(plan: &Plan) -> Result<Figures, String> {
    let threads = u32::try_from(plan.threads).map_err(|_| "too many threads".to_owned())?;
    let shared = Arc::new(Shared {
        barrier: B::new(threads),
        gate: Gate::new(plan.threads),
        work_loops: plan.work_loops,
        time_is_up: AtomicBool::new(false),
        last_round: AtomicU64::new(u64::MAX),
        rounds: (0..plan.threads).map(|_| Round(AtomicU64::new(0))).collect(),
    });
    let watched = Arc::clone(&shared);
    watchdog::start(plan.limit_s, move || {
        figures([("rounds_of_first_thread", watched.rounds[0].0.load(Relaxed) as f64)])
    });
    let spawn_one = |index| {
        let shared = Arc::clone(&shared);
        spawn(0, move || meet(&shared, index))
    };
    let handles: Vec<_> = (0..plan.threads).map(spawn_one).collect();
    shared.gate.wait_for_all();
    let usage = Usage::now();
    let start = Instant::now();
    shared.gate.open();
    std::thread::sleep(Duration::from_secs_f64(plan.seconds));
    shared.time_is_up.store(true, Relaxed);
    let torn: Vec<u64> = handles.into_iter().map(|handle| handle.join()).collect();
    let wall_s = start.elapsed().as_secs_f64();
    let used = usage.since();
    let torn: u64 = torn.iter().sum();
    if torn > 0 {
        return Err(format!("the barrier let a thread pass before others had come, {torn} times"));
    }
    let rounds = shared.rounds[0].0.load(Relaxed) as f64;
    Ok(figures([
        ("rounds_per_second", rounds / wall_s),
        ("seconds_per_round", wall_s / rounds),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / (rounds * plan.threads as f64)),
        ("voluntary_per_op", used.voluntary_switches / (rounds * plan.threads as f64)),
    ]))
}

/// A thread's life; returns how often the barrier let it pass too early.
fn meet<B: Barrier>(shared: &Shared<B>, index: usize) -> u64 {
    // One thread decides when it is over, and all hear of it a round later: the barrier itself carries it.
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
        // All have come to this round, and nobody can be past the next.
        torn += u64::from(!(round..=round + 1).contains(&neighbour.load(Relaxed)));
        if shared.last_round.load(Relaxed) <= round {
            break;
        }
    }
    torn
}
