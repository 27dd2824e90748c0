//! The cases that the options ask for.

use machine::NAMES;

use crate::case::Case;
use crate::options::Options;
use crate::stage;
use crate::tables::distinct;
use crate::workloads;

/// Numbers of threads of which each machine gets those that it has use for.
const THREADS: [usize; 5] = [1, 4, 16, 64, 256];
/// Permits of a semaphore, as a share of the threads.
const PERMITS: usize = 4;
/// Virtual time that is measured if there are as many processors as threads, and if there are not:
/// long enough for time slices to matter.
const MEASURED_US: f64 = 5_000.0;
const MEASURED_LOADED_US: f64 = 40_000.0;

pub fn cases(options: &Options) -> Result<Vec<Case>, String> {
    let all: Vec<String> = NAMES.map(str::to_owned).into();
    let machines = if options.machine.is_empty() { &all } else { &options.machine };
    let workloads: Vec<&str> = match &options.workload[..] {
        [] => workloads::names().collect(),
        some => some.iter().map(String::as_str).collect(),
    };
    let mut cases = Vec::new();
    for machine in machines {
        for workload in &workloads {
            cases.extend(of_workload(options, machine, workload)?);
        }
    }
    match cases.is_empty() {
        true => Err("none of the workloads has that contestant".to_owned()),
        false => Ok(cases),
    }
}

fn of_workload(options: &Options, machine: &str, workload: &str) -> Result<Vec<Case>, String> {
    let first = Case::new(machine, workload, "", 1);
    let processors = stage::processors(&first)?;
    let known = workloads::contestants(workload)?;
    let contestants: Vec<&str> = match &options.implementations[..] {
        [] => known,
        some => {
            let asked = some.iter().map(String::as_str);
            asked.filter(|name| known.contains(name) || *name == workloads::BROKEN).collect()
        }
    };
    let mut rows = Vec::new();
    for threads in threads(options, processors) {
        let measured_us = options
            .measured
            .map_or(if threads > processors { MEASURED_LOADED_US } else { MEASURED_US }, |ms| {
                ms * 1e3
            });
        let row = Case {
            threads,
            measured_us,
            seed: options.seed,
            accesses_max: (options.accesses * 1e6) as u64,
            permits: (threads / PERMITS).max(1) as u32,
            ..first.clone()
        };
        rows.extend(rows_of(options, row));
    }
    let of_row = |row: &Case| contestants.iter().map(|name| row.with(name)).collect::<Vec<_>>();
    Ok(rows.iter().flat_map(of_row).collect())
}

/// A row for each of the lengths and shares that the workload knows.
fn rows_of(options: &Options, row: Case) -> Vec<Case> {
    let by_sections = |row: Case| {
        let of = |(critical_ns, other_ns): &(f64, f64)| Case {
            critical_ns: *critical_ns,
            other_ns: *other_ns,
            ..row.clone()
        };
        options.sections.iter().map(of).collect::<Vec<_>>()
    };
    match row.workload.as_str() {
        "mutex" | "semaphore" => by_sections(row),
        "rwlock" => {
            let of = |percent: &f64| by_sections(Case { writes: percent / 100.0, ..row.clone() });
            options.writes.iter().flat_map(of).collect()
        }
        _ => vec![row],
    }
}

fn threads(options: &Options, processors: usize) -> Vec<usize> {
    if !options.threads.is_empty() {
        return options.threads.clone();
    }
    let few = THREADS.iter().copied().filter(|threads| *threads <= 8 * processors);
    let mut threads: Vec<usize> =
        few.chain(options.load.iter().map(|load| load * processors)).collect();
    threads.sort_unstable();
    distinct(threads.into_iter())
}
