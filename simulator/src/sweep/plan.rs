//! What a sweep runs: the cells, and the values of a constant that are tried in them.

use crate::case::Case;
use crate::constants::Constant;
use crate::options::Options;
use crate::stage;
use crate::tables::distinct;

/// More threads than that take long on the host, and are left to the grid.
const THREADS_MAX: usize = 256;
/// Work inside and outside of a mutex.
const SECTIONS: [(f64, f64); 5] =
    [(0.0, 0.0), (50.0, 50.0), (100.0, 100.0), (1_000.0, 1_000.0), (10_000.0, 10_000.0)];
/// Shares of writes, and the sections of a rwlock and of a semaphore.
const WRITES: [f64; 3] = [0.1, 0.01, 0.001];
const RWLOCK: (f64, f64) = (200.0, 400.0);
const SEMAPHORES: [(f64, f64); 2] = [(100.0, 100.0), (5_000.0, 5_000.0)];

/// A cell measures for so long, and a thread's share of accesses at most: a few thousand
/// operations.
const MEASURED_US: f64 = 4_000.0;
const MEASURED_LOADED_US: f64 = 25_000.0;
const ACCESSES: u64 = 60_000;
const ACCESSES_A_THREAD: u64 = 1_000;

/// Of a value's multiples these are tried, and zero where the constant can be that.
const SHARES: [f64; 4] = [0.125, 0.5, 2.0, 8.0];

/// furwock's cells on one machine.
pub fn cells(options: &Options, machine: &str) -> Result<Vec<Case>, String> {
    let first = Case::new(machine, "mutex", "furwock", 1);
    let processors = stage::processors(&first)?;
    let threads = match &options.threads[..] {
        [] => threads(processors),
        some => some.to_vec(),
    };
    let is_asked =
        |case: &Case| options.workload.is_empty() || options.workload.contains(&case.workload);
    let of = |threads: &usize| {
        let threads = *threads;
        let loaded = threads > processors;
        let case = |workload: &str| Case {
            workload: workload.to_owned(),
            threads,
            seed: options.seed,
            permits: (threads / 4).max(1) as u32,
            measured_us: if loaded { MEASURED_LOADED_US } else { MEASURED_US },
            accesses_max: ACCESSES + ACCESSES_A_THREAD * threads as u64,
            ..first.clone()
        };
        let with = |case: Case, (critical_ns, other_ns): (f64, f64)| Case {
            critical_ns,
            other_ns,
            ..case
        };
        let mutex = SECTIONS.map(|sections| with(case("mutex"), sections));
        let rwlock = WRITES.map(|writes| Case { writes, ..with(case("rwlock"), RWLOCK) });
        let semaphore = SEMAPHORES.map(|sections| with(case("semaphore"), sections));
        let plain = ["broadcast", "barrier"].map(case);
        // Few constants are theirs, and a cell takes long on the host.
        let long = ["wake-all", "table"].map(case).into_iter().filter(|_| threads == processors);
        let locks = mutex.into_iter().chain(rwlock).chain(semaphore);
        locks.chain(plain).chain(long).collect::<Vec<_>>()
    };
    let cases: Vec<Case> = threads.iter().flat_map(of).filter(is_asked).collect();
    match cases.is_empty() {
        true => Err("a sweep has none of these workloads".to_owned()),
        false => Ok(cases),
    }
}

/// Two threads, and half the processors, all of them, twice as many, and eight times as many.
fn threads(processors: usize) -> Vec<usize> {
    let some = [2, processors / 2, processors, 2 * processors, 8 * processors];
    let mut threads = some.map(|threads| threads.clamp(2, THREADS_MAX));
    threads.sort_unstable();
    distinct(threads.into_iter())
}

/// The values to try beside the default.
pub fn values(constant: &Constant, default: u64, asked: &[u64]) -> Vec<u64> {
    if !asked.is_empty() {
        return distinct(asked.iter().copied().filter(|value| *value != default));
    }
    let share = |share: &f64| (default as f64 * share).round() as u64;
    let zero = (constant.least == 0).then_some(0);
    let all = zero.into_iter().chain(SHARES.iter().map(share));
    let mut all: Vec<u64> = match constant.unit.starts_with("log2") {
        true => [-4, -2, 2, 4].iter().map(|by| default.saturating_add_signed(*by)).collect(),
        false => all.collect(),
    };
    all.retain_mut(|value| {
        *value = (*value).clamp(constant.least, constant.most);
        *value != default
    });
    all.sort_unstable();
    distinct(all.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(unit: &'static str, least: u64, most: u64) -> Constant {
        Constant { name: "x", unit, least, most, file: "", what: "" }
    }

    #[test]
    fn values_surround_the_default_and_stay_in_range() {
        assert_eq!(values(&constant("ns", 0, 1000), 100, &[]), [0, 13, 50, 200, 800]);
        assert_eq!(values(&constant("threads", 1, 32), 4, &[]), [1, 2, 8, 32]);
        assert_eq!(values(&constant("reads", 1, 128), 128, &[]), [16, 64]);
        assert_eq!(values(&constant("log2 waits", 4, 15), 12, &[]), [8, 10, 14, 15]);
        assert_eq!(values(&constant("ns", 0, 1000), 100, &[7, 100, 7]), [7]);
    }

    #[test]
    fn threads_are_few_or_many_as_the_machine_has_processors() {
        assert_eq!(threads(2), [2, 4, 16]);
        assert_eq!(threads(16), [2, 8, 16, 32, 128]);
        assert_eq!(threads(128), [2, 64, 128, 256]);
    }
}
