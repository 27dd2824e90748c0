//! mutex: threads take turns at one mutex, with work of a given length inside and outside of it.

use std::time::Instant;

use super::contest::{self, Outcome, Plan, Seat, summarise_turns};
use super::histogram::Histogram;
use super::implementation::for_family;
use super::locks::{Family, Mutex};
use super::parameters::{BadParameter, Parameters};
use super::report::Figures;
use super::work::spin;

struct Tally {
    operations: u64,
    waits: Histogram,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan::take(&mut parameters)?;
    parameters.finish()?;
    if let Some(reason) = plan.implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(for_family!(plan.implementation, measure(plan)))
}

fn measure<F: Family>(plan: Plan) -> Result<Figures, String> {
    take_turns(plan, F::Mutex::<u64>::new(0))
}

/// The contest for one mutex, of whatever kind.
pub fn take_turns<M: Mutex<u64>>(plan: Plan, mutex: M) -> Result<Figures, String> {
    let Outcome { lock, tallies, used } = contest::run(plan, mutex, operate::<M>);
    check(&tallies, lock.with(|counter| *counter))?;
    let turns = tallies.iter().map(|tally| (tally.operations, &tally.waits));
    Ok(summarise_turns(turns, &used))
}

/// A thread's life: lock, work, count, unlock, work.
fn operate<M: Mutex<u64>>(seat: &Seat<'_, Plan, M>) -> Tally {
    let (plan, mutex) = (seat.plan(), seat.lock());
    let mut tally = Tally { operations: 0, waits: Histogram::new() };
    // Read before the work and written after it: whoever else gets in is lost from the count. It is
    // not atomic on purpose: only the mutex keeps it right.
    let section = |counter: &mut u64| {
        let seen = *counter;
        spin(plan.critical_loops);
        *counter = seen + 1;
    };
    while seat.goes_on() {
        if tally.operations.is_multiple_of(plan.sample) {
            let start = Instant::now();
            mutex.with(|counter| {
                tally.waits.record(start.elapsed().as_nanos() as u64);
                section(counter);
            });
        } else {
            mutex.with(section);
        }
        spin(plan.other_loops);
        tally.operations += 1;
        seat.note(tally.operations);
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
        let tally = |operations| Tally { operations, waits: Histogram::new() };
        assert!(check(&[tally(2), tally(3)], 5).is_ok());
        assert!(check(&[tally(2), tally(3)], 4).is_err());
    }
}
