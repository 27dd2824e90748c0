//! rwlock: threads read or, drawn at random, write, with work of a given length inside the lock and
//! outside of it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use clap::Args;

use super::{Workload, grid};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, JAIN, LEAST_SHARE, OPERATIONS, PREEMPTIONS, SWITCHES};
use crate::bench::sections::Sections;
use crate::contestants::locks::{Family, RwLock, families};
use crate::contestants::{Table, choose, names_of};
use crate::harness::contest::{self, Contender, Outcome, Plan, summarise};
use crate::harness::{Failed, Figures, Parameters, Random, Waits, figures, spin};
use crate::values::threads;

/// Threads that read and write behind one reader-writer lock
///
/// About 3 minutes without options. The tables show medians over the rounds. Writes are drawn at
/// random, the same for all implementations in a round.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads [with --full also 4]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "2,16", default_value_if("full", "true", "2,4,16"))]
    pub threads: Vec<u32>,

    /// Percentages of writes [with --full also 0.1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = percentage)]
    #[arg(default_value = "0,1,10,50", default_value_if("full", "true", "0,0.1,1,10,50"))]
    pub writes: Vec<f64>,

    /// Microseconds of work inside the lock, or inside/outside of it [with --full also 0.2]
    #[arg(long, value_name = "CS[/NCS],...", value_delimiter = ',', value_parser = Sections::parse)]
    #[arg(default_value = "0,2", default_value_if("full", "true", "0,0.2,2"))]
    pub sections: Vec<Sections>,
}

fn percentage(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("not a percentage between 0 and 100".to_owned()),
    }
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let of = |writes: &f64| {
            grid(&self.sections, &self.threads, |sections, each| case(*writes, sections, each))
        };
        benchmark(self.writes.iter().flat_map(of).collect())
    }
}

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Reader-writer lock",
        draws: true,
        case_key: "Cases: percentage of writes, microseconds of work inside/outside of the lock x \
                   threads.",
        what: "Threads take one rwlock again and again, to read or, drawn at random, to write.",
        figures: vec![
            OPERATIONS,
            Figure::wait("read_wait_p999_s", "readers' wait, 99.9th percentile"),
            Figure::wait("write_wait_p999_s", "writers' wait, 99.9th percentile"),
            Figure::wait("write_wait_max_s", "longest wait of a writer in a round"),
            Figure::wait("wait_p50_s", "wait of all, median").detail(),
            Figure::wait("wait_p99_s", "wait of all, 99th percentile").detail(),
            CPU,
            SWITCHES,
            PREEMPTIONS,
            JAIN,
            LEAST_SHARE,
        ],
        cases,
        able: names_of(TABLE),
        lacking: "rwlock",
        ..Benchmark::named("rwlock")
    }
}

/// Up to this percentage of writes each write is timed: there are few, and their waits matter.
const FEW_WRITES: f64 = 10.0;

pub fn case(writes: f64, sections: Sections, threads: u32) -> Case {
    let [cs, ncs, sample] = sections.parameters();
    let write_sample = if writes <= FEW_WRITES { 1.0 } else { sample.1 };
    let series = format!("{writes} % writes, {sections} us inside/outside");
    Case {
        // Readers share the lock: only the number of processors bounds them.
        bound: Some(sections.bound(threads, if writes < 100.0 { threads } else { 1 })),
        ..Case::new(
            format!("{writes}% {sections} x {threads}"),
            [
                ("writes", writes),
                cs,
                ncs,
                ("threads", threads.into()),
                sample,
                ("write_sample", write_sample),
            ],
            Place::new(series, threads, "threads"),
        )
    }
}

/// What the lock protects: writes begun and ended, equal while no writer is inside. They are atomic
/// because a broken lock may be under test, but only loaded and stored: exclusion keeps them right.
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

    /// Runs `work` as a writer; false if another writer was inside meanwhile.
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

struct Shared<L> {
    lock: L,
    /// The share of writes, between 0 and 1.
    writes: f64,
    /// One write lock in `write_sample` is timed; `Plan::sample` is for reads.
    write_sample: u64,
    seed: u64,
}

#[derive(Default)]
struct Tally {
    reads: u64,
    writes: u64,
    /// Sections that another thread disturbed.
    disturbed_reads: u64,
    disturbed_writes: u64,
    read_waits: Waits,
    write_waits: Waits,
}

type Measure = fn(Plan, Shared<()>) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &families!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan::take(&mut given)?;
    let percent = given.amount("writes", 10.0)?;
    if percent > 100.0 {
        return Err(Failed::Parameter(format!("writes={percent}: a percentage, so at most 100")));
    }
    let shared = Shared {
        lock: (),
        writes: percent / 100.0,
        write_sample: given.count("write_sample", 1)? as u64,
        seed: given.take("seed", 1)?,
    };
    given.finish()?;
    Ok(choose(TABLE, plan.contestant)?(plan, shared)?)
}

fn measure<F: Family>(plan: Plan, shared: Shared<()>) -> Result<Figures, String> {
    let versions = Versions { begun: AtomicU64::new(0), ended: AtomicU64::new(0) };
    let Shared { writes, write_sample, seed, .. } = shared;
    let shared = Shared { lock: F::RwLock::new(versions), writes, write_sample, seed };
    let Outcome { shared, tallies, used } =
        contest::run(plan, shared, operate::<F::RwLock<Versions>>);
    let counts = |versions: &Versions| (versions.begun.load(Relaxed), versions.ended.load(Relaxed));
    check(&tallies, shared.lock.read(counts))?;

    let operations: Vec<u64> = tallies.iter().map(|tally| tally.reads + tally.writes).collect();
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>() as f64;
    let mut all = summarise(&operations, &used);
    all.extend(figures([
        ("reads_per_second", sum(|tally| tally.reads) / used.wall_s),
        ("writes_per_second", sum(|tally| tally.writes) / used.wall_s),
    ]));
    let (mut reads, mut writes) = (Waits::default(), Waits::default());
    tallies.iter().for_each(|tally| {
        reads.add(&tally.read_waits);
        writes.add(&tally.write_waits);
    });
    // Without reads or writes their figures are left out, not zero.
    if sum(|tally| tally.reads) > 0.0 {
        all.extend(reads.figures("read_"));
    }
    if sum(|tally| tally.writes) > 0.0 {
        all.extend(writes.figures("write_"));
    }
    reads.add(&writes);
    all.extend(reads.figures(""));
    Ok(all)
}

/// One thread: lock one way or the other, work, unlock, work.
fn operate<L: RwLock<Versions>>(contender: &Contender<'_, Shared<L>>) -> Tally {
    let (plan, shared) = (contender.plan(), contender.shared());
    let lock = &shared.lock;
    let mut random = Random::new(shared.seed, contender.index as u64, shared.writes);
    let mut tally = Tally::default();
    let work = || spin(plan.critical_loops);
    while contender.goes_on() {
        if random.chance() {
            let undisturbed = if tally.writes.is_multiple_of(shared.write_sample) {
                let start = Instant::now();
                lock.write(|versions| {
                    tally.write_waits.record(start);
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
                    tally.read_waits.record(start);
                    versions.read(work)
                })
            } else {
                lock.read(|versions| versions.read(work))
            };
            tally.reads += 1;
            tally.disturbed_reads += u64::from(!undisturbed);
        }
        spin(plan.other_loops);
        contender.note(tally.reads + tally.writes);
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
        "the rwlock did not exclude: {} readers and {} writers met a writer; {writes} writes left \
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
    fn a_thread_that_meets_a_writer_notices() {
        let versions = versions();
        assert!(versions.write(|| {}));
        assert!(versions.read(|| {}));
        // A writer that comes while a reader is inside, and goes again.
        assert!(!versions.read(|| assert!(versions.write(|| {}))));
        // A reader that comes while a writer is inside.
        assert!(versions.write(|| assert!(!versions.read(|| {}))));
        // Two writers: both notice.
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
