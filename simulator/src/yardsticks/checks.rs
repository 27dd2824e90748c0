//! What each yardstick must pass: mutual exclusion on several machines, with several seeds, with
//! fewer and with more threads than processors. A broken lock must not pass.

use crate::case::{Case, Shape};
use crate::workloads;

const SEEDS: [u64; 3] = [1, 2, 3];
/// Machines, and numbers of threads on them.
const PLACES: [(&str, usize); 4] =
    [("xeon-kvm-2", 2), ("xeon-kvm-2", 7), ("sixteen", 16), ("nodes-8x16", 40)];

fn cases(workload: &'static str, contestant: &'static str) -> impl Iterator<Item = Case> {
    PLACES.into_iter().flat_map(move |(machine, threads)| {
        SEEDS.map(|seed| Case {
            seed,
            critical_ns: 60.0,
            other_ns: 200.0,
            jitter: 0.9,
            writes: 0.3,
            permits: 3,
            words: 20,
            warmup_us: 5.0,
            // Several time slices: two threads may spin while the holder has no processor.
            measured_us: 20_000.0,
            accesses_max: 300_000,
            drains: true,
            ..Case::new(machine, workload, contestant, threads)
        })
    })
}

fn all_pass(workload: &'static str) {
    for contestant in workloads::contestants(workload).unwrap() {
        for case in cases(workload, contestant) {
            let figures = workloads::run(&case);
            let figures = figures.unwrap_or_else(|failure| panic!("{case:?}: {failure}"));
            assert!(figures["operations"] > 0.0, "{case:?}: nothing was done");
        }
    }
}

fn is_rejected(workload: &'static str) {
    let passed: Vec<Case> =
        cases(workload, workloads::BROKEN).filter(|case| workloads::run(case).is_ok()).collect();
    assert!(passed.is_empty(), "the broken lock passed: {passed:?}");
}

#[test]
fn mutexes_exclude() {
    all_pass("mutex");
}

#[test]
fn interposed_locks_exclude() {
    all_pass("program");
}

#[test]
fn barriers_under_interposed_locks_hold_until_all_have_come() {
    let tried = workloads::contestants("program").unwrap();
    for contestant in tried.into_iter().filter(|name| *name != "clh_spin") {
        for case in cases("program", contestant).filter(|case| case.machine == "sixteen") {
            let case = Case { shape: Shape::Barrier, ..case };
            let figures = workloads::run(&case);
            let figures = figures.unwrap_or_else(|failure| panic!("{case:?}: {failure}"));
            assert!(figures["operations"] > 0.0, "{case:?}: no thread passed");
        }
    }
}

#[test]
fn a_broken_mutex_is_found() {
    is_rejected("mutex");
}

#[test]
fn rwlocks_exclude() {
    all_pass("rwlock");
}

#[test]
fn a_broken_rwlock_is_found() {
    is_rejected("rwlock");
}

#[test]
fn semaphores_let_in_no_more_than_their_permits() {
    all_pass("semaphore");
}

#[test]
fn barriers_hold_until_all_have_come() {
    all_pass("barrier");
}

#[test]
fn broadcasts_and_wakes_reach_all() {
    all_pass("broadcast");
    all_pass("wake-all");
}

#[test]
fn tables_find_mismatches() {
    all_pass("table");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let case = cases("mutex", "mcs").next().unwrap();
    let run = |seed| {
        let figures = workloads::run(&Case { seed, ..case.clone() }).unwrap();
        (figures["operations"], crate::stage::last_trace())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).1, run(8).1);
}
