//! sem: threads share a semaphore's permits, with work of a given length with a permit and without.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Instant;

use clap::Args;

use super::{Workload, grid};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::CONTENTION;
use crate::bench::sections::Sections;
use crate::contestants::semaphores::{Semaphore, semaphores};
use crate::contestants::{Table, choose, names_of};
use crate::harness::contest::{self, Contender, Outcome, Plan, summarise_turns};
use crate::harness::{Failed, Figures, Parameters, Waits, spin};
use crate::values::{count, threads};

/// Threads that share a semaphore's permits
///
/// An implementation without semaphores is measured with a count, a mutex and a condition variable.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "2,16,64")]
    threads: Vec<u32>,

    /// Permits that they share
    #[arg(short = 'p', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    #[arg(default_value = "1,2")]
    permits: Vec<u32>,

    /// Microseconds of work with a permit and without
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = Sections::parse)]
    #[arg(default_value = "0/0,1/1,10/10")]
    sections: Vec<Sections>,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let of = |permits: &u32| {
            grid(&self.sections, &self.threads, |sections, each| case(*permits, sections, each))
        };
        Benchmark {
            title: "Semaphore",
            case_key: "Cases: permits, microseconds of work with one/without x threads.",
            what: "Threads take a permit of one semaphore, work, give it back, and work again.",
            figures: CONTENTION.into(),
            cases: self.permits.iter().flat_map(of).collect(),
            able: names_of(TABLE),
            lacking: "semaphores",
            ..Benchmark::named("sem")
        }
    }
}

fn case(permits: u32, sections: Sections, threads: u32) -> Case {
    let [cs, ncs, sample] = sections.parameters();
    let series = format!("permits: {permits}, {sections} us with/without one");
    Case {
        bound: Some(sections.bound(threads, permits)),
        ..Case::new(
            format!("{permits}: {sections} x {threads}"),
            [("permits", permits.into()), cs, ncs, ("threads", threads.into()), sample],
            Place::new(series, threads, "threads"),
        )
    }
}

struct Guarded<S> {
    semaphore: S,
    permits: u32,
    /// How many threads have a permit, counted by themselves.
    inside: AtomicU32,
}

#[derive(Default)]
struct Tally {
    operations: u64,
    waits: Waits,
    /// How often too many threads were inside.
    crowded: u64,
}

type Measure = fn(Plan, u32) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &semaphores!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let permits = given.count("permits", 1)?;
    let plan = Plan::take(&mut given)?;
    given.finish()?;
    let permits = u32::try_from(permits)
        .map_err(|_| Failed::Parameter(format!("permits={permits}: more than there can be")))?;
    Ok(choose(TABLE, plan.contestant)?(plan, permits)?)
}

fn measure<S: Semaphore>(plan: Plan, permits: u32) -> Result<Figures, String> {
    let guarded = Guarded { semaphore: S::new(permits), permits, inside: AtomicU32::new(0) };
    let Outcome { shared, tallies, used } = contest::run(plan, guarded, operate::<S>);
    check(&tallies, shared.inside.into_inner(), permits)?;
    // All permits can be taken again, or this hangs and the watchdog reports it.
    (0..permits).for_each(|_| shared.semaphore.acquire());
    let turns = tallies.iter().map(|tally| (tally.operations, &tally.waits));
    Ok(summarise_turns(turns, &used))
}

fn operate<S: Semaphore>(contender: &Contender<'_, Guarded<S>>) -> Tally {
    let (plan, guarded) = (contender.plan(), contender.shared());
    let mut tally = Tally::default();
    while contender.goes_on() {
        if tally.operations.is_multiple_of(plan.sample) {
            let start = Instant::now();
            guarded.semaphore.acquire();
            tally.waits.record(start);
        } else {
            guarded.semaphore.acquire();
        }
        let inside = guarded.inside.fetch_add(1, SeqCst) + 1;
        tally.crowded += u64::from(inside > guarded.permits);
        spin(plan.critical_loops);
        guarded.inside.fetch_sub(1, SeqCst);
        guarded.semaphore.release();
        spin(plan.other_loops);
        tally.operations += 1;
        contender.note(tally.operations);
    }
    tally
}

fn check(tallies: &[Tally], inside: u32, permits: u32) -> Result<(), String> {
    let crowded: u64 = tallies.iter().map(|tally| tally.crowded).sum();
    match (crowded, inside) {
        (0, 0) => Ok(()),
        _ => Err(format!(
            "the semaphore of {permits} let in too many {crowded} times; at the end {inside} are in"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_crowds() {
        let tally = |crowded| Tally { crowded, ..Tally::default() };
        assert!(check(&[tally(0), tally(0)], 0, 2).is_ok());
        assert!(check(&[tally(0), tally(1)], 0, 2).is_err());
        assert!(check(&[tally(0)], 1, 2).is_err());
    }
}
