//! mutex: threads take turns at one mutex, with work of a given length inside and outside of it.

use std::time::Instant;

use clap::Args;

use super::{Workload, grid};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::CONTENTION;
use crate::bench::sections::Sections;
use crate::contestants::locks::{Mutex, Mutexes, mutexes};
use crate::contestants::{Table, choose, names_of};
use crate::harness::contest::{self, Contender, Outcome, Plan, summarise_turns};
use crate::harness::{Failed, Figures, Parameters, Waits, spin};
use crate::values::threads;

/// Threads that contend for one mutex
///
/// About 3 minutes without options. The tables show medians over the rounds.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads [with --full also 1]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "2,4,16,64", default_value_if("full", "true", "1,2,4,16,64"))]
    pub threads: Vec<u32>,

    /// Microseconds of work inside/outside of the lock [with --full also 1/5 and 50/50]
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = Sections::parse)]
    #[arg(default_value = "0/0,0.1/0.1,1/1,10/10")]
    #[arg(default_value_if("full", "true", "0/0,0.1/0.1,1/1,1/5,10/10,50/50"))]
    pub sections: Vec<Sections>,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        benchmark(grid(&self.sections, &self.threads, case))
    }
}

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Mutex",
        case_key: "Cases: microseconds of work inside/outside of the lock x threads.",
        what: "Threads take one mutex again and again, work inside of it, and work outside of it.",
        figures: CONTENTION.into(),
        cases,
        able: names_of(TABLE),
        lacking: "mutex",
        ..Benchmark::named("mutex")
    }
}

pub fn case(sections: Sections, threads: u32) -> Case {
    let series = format!("{sections} us inside/outside");
    let [cs, ncs, sample] = sections.parameters();
    Case {
        bound: Some(sections.bound(threads, 1)),
        ..Case::new(
            format!("{sections} x {threads}"),
            [cs, ncs, ("threads", threads.into()), sample],
            Place::new(series, threads, "threads"),
        )
    }
}

struct Tally {
    operations: u64,
    waits: Waits,
}

type Measure = fn(Plan) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &mutexes!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan::take(&mut given)?;
    given.finish()?;
    Ok(choose(TABLE, plan.contestant)?(plan)?)
}

fn measure<F: Mutexes>(plan: Plan) -> Result<Figures, String> {
    // And the main thread.
    let mutex = F::Mutex::<u64>::for_threads(0, plan.threads + 1);
    take_turns(plan, mutex)
}

/// The contest for one mutex of any kind.
pub fn take_turns<M: Mutex<u64>>(plan: Plan, mutex: M) -> Result<Figures, String> {
    let Outcome { shared, tallies, used } = contest::run(plan, mutex, operate::<M>);
    check(&tallies, shared.with(|counter| *counter))?;
    let turns = tallies.iter().map(|tally| (tally.operations, &tally.waits));
    Ok(summarise_turns(turns, &used))
}

/// One thread: lock, work, count, unlock, work.
fn operate<M: Mutex<u64>>(contender: &Contender<'_, M>) -> Tally {
    let (plan, mutex) = (contender.plan(), contender.shared());
    let mut tally = Tally { operations: 0, waits: Waits::default() };
    // Read before the work and written after it: if another thread gets in, its count is lost. It
    // is not atomic on purpose: only the mutex keeps it right.
    let section = |counter: &mut u64| {
        let seen = *counter;
        spin(plan.critical_loops);
        *counter = seen + 1;
    };
    while contender.goes_on() {
        if tally.operations.is_multiple_of(plan.sample) {
            let start = Instant::now();
            mutex.with(|counter| {
                tally.waits.record(start);
                section(counter);
            });
        } else {
            mutex.with(section);
        }
        spin(plan.other_loops);
        tally.operations += 1;
        contender.note(tally.operations);
    }
    tally
}

fn check(tallies: &[Tally], counter: u64) -> Result<(), String> {
    let sum: u64 = tallies.iter().map(|tally| tally.operations).sum();
    if counter == sum {
        Ok(())
    } else {
        Err(format!("{sum} operations left a count of {counter}: the mutex did not exclude"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_count_that_lost_operations() {
        let tally = |operations| Tally { operations, waits: Waits::default() };
        assert!(check(&[tally(2), tally(3)], 5).is_ok());
        assert!(check(&[tally(2), tally(3)], 4).is_err());
    }
}
