//! What the scenarios find: each mutant of this list fails in one of them, on some machine, with
//! some seed or disturbance. (Orderings are loom's part, and not looked for.)

use super::scenarios::{ALL, Scenario};
use super::simulation;
use machine::{At, Disturbance, isolated_all};

/// Mutants, by their names in `prim/mutant.rs`, and the scenario that finds them.
const FOUND: &[(&str, &str)] = &[
    ("ArrivalBeforeQueue", "barrier"),
    ("BucketUnlockWithoutWake", "condvar"),
    ("GateForgetsSleepers", "barrier"),
    ("HeirsForgotten", "condvar"),
    ("MoveWithoutParked", "condvar"),
    ("NotifyWithoutWake", "mutex"),
    ("PairInCallersOrder", "requeue"),
    ("PlaceLeftToNone", "mutex with timeouts"),
    ("RequeueWithoutCount", "requeue"),
    ("SpinKeptAsleep", "mutex with timeouts"),
    ("StaleWakeKept", "mutex"),
    ("TimedOutWakeDropped", "mutex with timeouts"),
    ("UnlockBeforeEnqueue", "condvar"),
    ("UpgradeLeftOpen", "upgrades"),
    ("UpgraderForgotten", "upgrades"),
    ("WaiterUncounted", "semaphore"),
    ("WakeNotExpected", "mutex"),
];

/// A machine, a seed, and what disturbs the threads.
type Run = (&'static str, u64, Option<Disturbance>);

/// Several machines and seeds.
fn plain() -> Vec<Run> {
    let machines = ["xeon-kvm-2", "sixteen", "opteron-8x8"];
    (0..8).flat_map(|seed| machines.map(|name| (name, seed, None))).collect()
}

/// Each access of two threads, and each wake.
fn disturbed(seed: u64) -> Vec<Run> {
    let disturbances = (1..240).flat_map(|nth| {
        let preempt = |thread| {
            let at = At::Thread { thread, access: nth };
            Disturbance::Preempt { at, for_ns: 30_000_000 }
        };
        [preempt(2), preempt(5), Disturbance::WakeLate { nth, by_ns: 50_000_000 }]
    });
    disturbances.map(|disturbance| ("xeon-kvm-2", seed, Some(disturbance))).collect()
}

/// Runs `scenario` with the mutant, each time in a process of its own. Returns the first failure.
fn find(mutant: &'static str, scenario: Scenario, runs: Vec<Run>) -> Option<String> {
    let jobs = runs.into_iter().map(|(name, seed, disturbance)| {
        move || {
            // SAFETY: the child has one thread, and has not looked for the mutant yet.
            unsafe { std::env::set_var("FURWOCK_MUTANT", mutant) };
            std::panic::set_hook(Box::new(|_| {}));
            let mut simulation = simulation(name, seed).limit_ns(3_000_000_000);
            if let Some(disturbance) = disturbance {
                simulation = simulation.disturb(disturbance);
            }
            let failed = scenario(simulation).err();
            failed.map_or(Vec::new(), |failure| failure.to_string().into())
        }
    });
    isolated_all(jobs, 2).into_iter().find_map(|result| match result {
        Ok(said) if said.is_empty() => None,
        Ok(said) => Some(String::from_utf8_lossy(&said).into_owned()),
        Err(crash) => Some(crash.to_string()),
    })
}

/// The same scenarios pass without mutants, on the same machines and with the same disturbances.
#[test]
fn the_scenarios_find_these_mutants() {
    let mut missed = Vec::new();
    for &(mutant, name) in FOUND {
        let (_, scenario) = ALL.iter().find(|(known, _)| *known == name).expect("a scenario");
        // (Which words share a bucket depends on where the program lies: some mutants take more
        // seeds at times.)
        let disturbed = || (1..12).find_map(|seed| find(mutant, *scenario, disturbed(seed)));
        let failure = find(mutant, *scenario, plain()).or_else(disturbed);
        match failure {
            Some(failure) => println!("{mutant}: {}", failure.lines().next().unwrap_or_default()),
            None => missed.push(mutant),
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
