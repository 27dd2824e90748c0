//! The workloads: for each its loop and the check of its own result, compiled for each contestant.

mod barrier;
mod broadcast;
mod mutex;
mod program;
mod rwlock;
mod semaphore;
pub mod table;
pub mod wake_all;

use crate::case::Case;
use crate::constants;
use crate::figures::Figures;
use crate::stage;

/// Runs a case in this process.
type Run = fn(&Case) -> Result<Figures, String>;

/// The contestants of a workload, each with the loop that is compiled for it.
type Table = [(&'static str, Run)];

/// The same for all that exclude.
macro_rules! locks {
    ($run:ident) => {
        &[
            #[cfg(simulated)]
            ("furwock", $run::<crate::ours::Mutex> as _),
            ("test-and-set", $run::<crate::yardsticks::TestAndSet> as _),
            ("backoff", $run::<crate::yardsticks::Backoff> as _),
            ("ticket", $run::<crate::yardsticks::Ticket> as _),
            ("clh", $run::<crate::yardsticks::Clh> as _),
            ("mcs", $run::<crate::yardsticks::Mcs<crate::yardsticks::Spinning>> as _),
            ("mcs-park", $run::<crate::yardsticks::Mcs<crate::yardsticks::SpinThenPark>> as _),
            (
                "mcs-park-litl",
                $run::<crate::yardsticks::Mcs<crate::yardsticks::SpinThenParkAlwaysWoken>> as _,
            ),
            ("malthusian", $run::<crate::yardsticks::Malthusian<crate::yardsticks::Spinning>> as _),
            (
                "malthusian-park",
                $run::<crate::yardsticks::Malthusian<crate::yardsticks::SpinThenPark>> as _,
            ),
            (
                "malthusian-park-litl",
                $run::<crate::yardsticks::Malthusian<crate::yardsticks::SpinThenParkAlwaysWoken>>
                    as _,
            ),
            ("c-bo-mcs", $run::<crate::yardsticks::CohortLock> as _),
            ("hmcs", $run::<crate::yardsticks::HierarchicalMcs> as _),
            ("futex", $run::<crate::yardsticks::FutexMutex> as _),
            ("std", $run::<crate::yardsticks::StdMutex> as _),
            ("glibc", $run::<crate::yardsticks::GlibcMutex> as _),
            ("glibc-adaptive", $run::<crate::yardsticks::GlibcAdaptiveMutex> as _),
            ("mutexee", $run::<crate::yardsticks::Mutexee> as _),
            ("yielding", $run::<crate::yardsticks::Yielding> as _),
            ("broken", $run::<crate::yardsticks::BrokenLock> as _),
        ]
    };
}
pub(crate) use locks;

/// What the checks must find, and what no grid runs unless it is named.
pub const BROKEN: &str = "broken";

const WORKLOADS: &[(&str, &Table)] = &[
    ("mutex", mutex::TABLE),
    ("rwlock", rwlock::TABLE),
    ("broadcast", broadcast::TABLE),
    ("wake-all", wake_all::TABLE),
    ("semaphore", semaphore::TABLE),
    ("barrier", barrier::TABLE),
    ("table", table::TABLE),
    (program::NAME, program::TABLE),
];

/// All workloads that compare locks.
pub fn names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(name, _)| *name).filter(|name| *name != program::NAME)
}

fn table(workload: &str) -> Result<&'static Table, String> {
    let found = WORKLOADS.iter().find(|(name, _)| *name == workload);
    let known = || names().collect::<Vec<_>>().join(", ");
    found
        .map(|(_, table)| *table)
        .ok_or_else(|| format!("no workload \"{workload}\"; there are {}", known()))
}

/// All contestants of a workload but the broken ones.
pub fn contestants(workload: &str) -> Result<Vec<&'static str>, String> {
    let names = table(workload)?.iter().map(|(name, _)| *name);
    Ok(names.filter(|name| *name != BROKEN).collect())
}

/// Runs the case in this process, on this thread.
pub fn run(case: &Case) -> Result<Figures, String> {
    let table = table(&case.workload)?;
    let (_, run) = table
        .iter()
        .find(|(name, _)| *name == case.contestant)
        .ok_or_else(|| format!("{} has no contestant \"{}\"", case.workload, case.contestant))?;
    stage::prepare(case)?;
    constants::set(&case.constants)?;
    run(case)
}
