//! sem: threads share a semaphore's permits, with work of a given length while they have one and while
//! they don't.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Instant;

use super::contest::{self, Outcome, Plan, Seat, summarise_turns};
use super::histogram::Histogram;
use super::parameters::{BadParameter, Parameters};
use super::report::Figures;
use super::semaphores::{Semaphore, for_semaphores};
use super::work::spin;

struct Permitted {
    plan: Plan,
    permits: u32,
}

impl AsRef<Plan> for Permitted {
    fn as_ref(&self) -> &Plan {
        &self.plan
    }
}

struct Guarded<S> {
    semaphore: S,
    /// How many threads have a permit, as they count themselves.
    inside: AtomicU32,
}

#[derive(Default)]
struct Tally {
    operations: u64,
    waits: Histogram,
    /// Times that too many were inside.
    crowded: u64,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let permits = parameters.take_count("permits", 1)?;
    let plan = Plan::take(&mut parameters)?;
    parameters.finish()?;
    let implementation = plan.implementation;
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    let permits = u32::try_from(permits)
        .map_err(|_| BadParameter(format!("permits={permits}: more than there can be")))?;
    Ok(for_semaphores!(implementation, measure(Permitted { plan, permits })))
}

fn measure<S: Semaphore>(shared: Permitted) -> Result<Figures, String> {
    let permits = shared.permits;
    let guarded = Guarded { semaphore: S::new(permits), inside: AtomicU32::new(0) };
    let Outcome { lock, tallies, used } = contest::run(shared, guarded, operate::<S>);
    check(&tallies, lock.inside.into_inner(), permits)?;
    // As many permits as at the start are there to be taken, or this hangs and the watchdog tells.
    (0..permits).for_each(|_| lock.semaphore.acquire());
    let turns = tallies.iter().map(|tally| (tally.operations, &tally.waits));
    Ok(summarise_turns(turns, &used))
}

fn operate<S: Semaphore>(seat: &Seat<'_, Permitted, Guarded<S>>) -> Tally {
    let (Permitted { plan, permits }, guarded) = (seat.plan(), seat.lock());
    let mut tally = Tally::default();
    while seat.goes_on() {
        if tally.operations.is_multiple_of(plan.sample) {
            let start = Instant::now();
            guarded.semaphore.acquire();
            tally.waits.record(start.elapsed().as_nanos() as u64);
        } else {
            guarded.semaphore.acquire();
        }
        let inside = guarded.inside.fetch_add(1, SeqCst) + 1;
        tally.crowded += u64::from(inside > *permits);
        spin(plan.critical_loops);
        guarded.inside.fetch_sub(1, SeqCst);
        guarded.semaphore.release();
        spin(plan.other_loops);
        tally.operations += 1;
        seat.note(tally.operations);
    }
    tally
}

fn check(tallies: &[Tally], inside: u32, permits: u32) -> Result<(), String> {
    let crowded: u64 = tallies.iter().map(|tally| tally.crowded).sum();
    match (crowded, inside) {
        (0, 0) => Ok(()),
        _ => Err(format!(
            "the semaphore of {permits} let in too many {crowded} times; {inside} are inside at the end"
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
