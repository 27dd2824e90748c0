//! rwlock: threads read or write by the throw of a die, with work of a given length inside the lock
//! and outside of it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::contest::{self, Outcome, Plan, Seat, summarise, summarise_waits};
use super::die::Die;
use super::histogram::Histogram;
use super::implementation::for_family;
use super::locks::{Family, RwLock};
use super::parameters::{BadParameter, Parameters};
use super::report::{Figures, figures};
use super::work::spin;

struct ReadsAndWrites {
    plan: Plan,
    /// The share of writes, between 0 and 1.
    writes: f64,
    /// One in so many write locks is timed, as `Plan::sample` says it of reads.
    write_sample: u64,
    seed: u64,
}

impl AsRef<Plan> for ReadsAndWrites {
    fn as_ref(&self) -> &Plan {
        &self.plan
    }
}

/// What the lock protects: writes begun and ended, equal while no writer is inside. Atomic, for a
/// broken lock's sake, but only ever loaded and stored: exclusion alone keeps them right.
struct Versions {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Versions {
    /// Runs `work` as a reader; false if a writer was inside meanwhile.
    #[inline]
    fn read(&self, work: impl FnOnce()) -> bool {
        let before = self.begun.load(Relaxed);
        let settled = self.ended.load(Relaxed) == before;
        work();
        settled && self.begun.load(Relaxed) == before
    }

    /// Runs `work` as a writer; false if another writer was inside meanwhile. Readers that are
    /// inside find out by themselves.
    #[inline]
    fn write(&self, work: impl FnOnce()) -> bool {
        let before = self.begun.load(Relaxed);
        let settled = self.ended.load(Relaxed) == before;
        self.begun.store(before + 1, Relaxed);
        work();
        let alone = self.begun.load(Relaxed) == before + 1 && self.ended.load(Relaxed) == before;
        self.ended.store(before + 1, Relaxed);
        settled && alone
    }
}

#[derive(Default)]
struct Tally {
    reads: u64,
    writes: u64,
    /// Sections in which somebody else was found.
    disturbed_reads: u64,
    disturbed_writes: u64,
    read_waits: Histogram,
    write_waits: Histogram,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan::take(&mut parameters)?;
    let percent = parameters.take_amount("writes", 10.0)?;
    if percent > 100.0 {
        return Err(BadParameter(format!("writes={percent}: a percentage, so at most 100")));
    }
    let shared = ReadsAndWrites {
        writes: percent / 100.0,
        write_sample: parameters.take_count("write_sample", 1)? as u64,
        seed: parameters.take("seed", 1)?,
        plan,
    };
    parameters.finish()?;
    let implementation = shared.plan.implementation;
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(for_family!(implementation, measure(shared)))
}

fn measure<F: Family>(shared: ReadsAndWrites) -> Result<Figures, String> {
    let versions = Versions { begun: AtomicU64::new(0), ended: AtomicU64::new(0) };
    let Outcome { lock, tallies, used } =
        contest::run(shared, F::RwLock::new(versions), operate::<F::RwLock<Versions>>);
    let versions =
        lock.read(|versions| (versions.begun.load(Relaxed), versions.ended.load(Relaxed)));
    check(&tallies, versions)?;

    let operations: Vec<u64> = tallies.iter().map(|tally| tally.reads + tally.writes).collect();
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>() as f64;
    let mut all = summarise(&operations, &used);
    all.extend(figures([
        ("reads_per_second", sum(|tally| tally.reads) / used.wall_s),
        ("writes_per_second", sum(|tally| tally.writes) / used.wall_s),
    ]));
    let (mut reads, mut writes) = (Histogram::new(), Histogram::new());
    tallies.iter().for_each(|tally| {
        reads.merge(&tally.read_waits);
        writes.merge(&tally.write_waits);
    });
    // Nobody waited for what nobody did: such figures are left out, not zero.
    if sum(|tally| tally.reads) > 0.0 {
        all.extend(summarise_waits("read_", &reads));
    }
    if sum(|tally| tally.writes) > 0.0 {
        all.extend(summarise_waits("write_", &writes));
    }
    reads.merge(&writes);
    all.extend(summarise_waits("", &reads));
    Ok(all)
}

/// A thread's life: lock one way or the other, work, unlock, work.
fn operate<L: RwLock<Versions>>(seat: &Seat<'_, ReadsAndWrites, L>) -> Tally {
    let (shared, lock) = (seat.plan(), seat.lock());
    let plan = &shared.plan;
    let mut die = Die::new(shared.seed, seat.index as u64, shared.writes);
    let mut tally = Tally::default();
    let work = || spin(plan.critical_loops);
    while seat.goes_on() {
        if die.falls() {
            let undisturbed = if tally.writes.is_multiple_of(shared.write_sample) {
                let start = Instant::now();
                lock.write(|versions| {
                    tally.write_waits.record(start.elapsed().as_nanos() as u64);
                    versions.write(work)
                })
            } else {
                lock.write(|versions| versions.write(work))
            };
            tally.writes += 1;
            tally.disturbed_writes += u64::from(!undisturbed);
        } else {
            let undisturbed = if tally.reads.is_multiple_of(plan.sample) {
                let start = Instant::now();
                lock.read(|versions| {
                    tally.read_waits.record(start.elapsed().as_nanos() as u64);
                    versions.read(work)
                })
            } else {
                lock.read(|versions| versions.read(work))
            };
            tally.reads += 1;
            tally.disturbed_reads += u64::from(!undisturbed);
        }
        spin(plan.other_loops);
        seat.note(tally.reads + tally.writes);
    }
    tally
}

fn check(tallies: &[Tally], (begun, ended): (u64, u64)) -> Result<(), String> {
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let writes = sum(|tally| tally.writes);
    let disturbed = (sum(|tally| tally.disturbed_reads), sum(|tally| tally.disturbed_writes));
    if disturbed == (0, 0) && (begun, ended) == (writes, writes) {
        return Ok(());
    }
    Err(format!(
        "the rwlock did not exclude: {} readers and {} writers met a writer, {writes} writes left \
         counts of {begun} and {ended}",
        disturbed.0, disturbed.1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions() -> Versions {
        Versions { begun: AtomicU64::new(0), ended: AtomicU64::new(0) }
    }

    #[test]
    fn whoever_meets_a_writer_finds_out() {
        let versions = versions();
        assert!(versions.write(|| {}));
        assert!(versions.read(|| {}));
        // A writer that comes while a reader is inside, and goes again.
        assert!(!versions.read(|| assert!(versions.write(|| {}))));
        // A reader that comes while a writer is inside.
        assert!(versions.write(|| assert!(!versions.read(|| {}))));
        // Two writers: both find out.
        assert!(!versions.write(|| assert!(!versions.write(|| {}))));
    }

    #[test]
    fn rejects_disturbed_sections_and_lost_writes() {
        let tally = |writes, disturbed_reads| Tally { writes, disturbed_reads, ..Tally::default() };
        assert!(check(&[tally(2, 0), tally(3, 0)], (5, 5)).is_ok());
        assert!(check(&[tally(2, 0), tally(3, 0)], (4, 4)).is_err());
        assert!(check(&[tally(2, 0), tally(3, 1)], (5, 5)).is_err());
    }
}
