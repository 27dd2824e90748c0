//! hash, after `perf bench futex hash`: each thread waits on its own words in turn. They don't hold
//! the expected value, so that only the way to a word's queue and back is measured.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use clap::Args;

use super::{Workload, grid};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure};
use crate::contestants::words::{self, Words, shared_words};
use crate::contestants::{Table, choose, names_of};
use crate::harness::contest::{self, Contender, Outcome, Plan, summarise};
use crate::harness::{Failed, Figures, Parameters, spawn};
use crate::measuring::machine::cpus;
use crate::values::{count, threads};

/// Waits that return at once, since the word doesn't hold the expected value
///
/// Measures the way into the table and out again, as `perf bench futex hash`: each thread has its
/// own words; ranked by operations a second and thread.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads [default: 1 and the number of CPUs]
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    threads: Vec<u32>,

    /// Words of each thread
    #[arg(short = 'f', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    #[arg(default_value = "1024")]
    futexes: Vec<u32>,

    /// Process-shared words: kernel futexes for all
    #[arg(short = 'S', long)]
    shared: bool,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        let mut threads = self.threads.clone();
        if threads.is_empty() {
            threads = vec![1, cpus()];
            threads.dedup();
        }
        let cases = grid(&self.futexes, &threads, |futexes, threads| case(threads, futexes));
        benchmark(cases).shared_if(self.shared, names_of(SHARED))
    }
}

pub const A_THREAD: Figure =
    Figure::rate("ops_per_second_per_thread", "operations a second and thread");

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Futex hash",
        case_key: "Cases: threads x words of each.",
        what: "Each thread waits on its own words in turn, which don't hold the expected value: \
               only the way into the table and out again is measured. furwock looks at the word \
               first, and then needs no table; furwock-table takes the bucket's lock each time.",
        figures: vec![A_THREAD, CPU],
        cases,
        able: names_of(TABLE),
        lacking: "waits on words",
        ..Benchmark::named("hash")
    }
}

pub fn case(threads: u32, futexes: u32) -> Case {
    Case::new(
        format!("{threads} x {futexes}"),
        [("threads", threads.into()), ("futexes", futexes.into())],
        Place::new(format!("{threads} threads"), futexes, "words of each thread"),
    )
}

/// Never what a word holds.
const OTHER: u32 = 1234;

struct Tally {
    operations: u64,
    /// How often a wait returned that the word doesn't hold the expected value.
    mismatches: u64,
}

type Measure = fn(Plan, usize) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &words::words!(measure, FurwockTable => words::FurwockTable);
const SHARED: &Table<Measure> = &shared_words!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let table = if given.flag("shared")? { SHARED } else { TABLE };
    let futexes = given.count("futexes", 1024)?;
    let plan = Plan::take(&mut given)?;
    given.finish()?;
    Ok(choose(table, plan.contestant)?(plan, futexes)?)
}

fn measure<W: Words>(plan: Plan, futexes: usize) -> Result<Figures, String> {
    sleeps::<W>()?;
    let threads = plan.threads as f64;
    let Outcome { tallies, used, .. } = contest::run(plan, futexes, operate::<W>);
    check(&tallies)?;
    let operations: Vec<u64> = tallies.iter().map(|tally| tally.operations).collect();
    let mut figures = summarise(&operations, &used);
    figures.insert("ops_per_second_per_thread".to_owned(), figures["ops_per_second"] / threads);
    Ok(figures)
}

/// A wait that never sleeps would be fast. Checks that a thread that waits on a word with the
/// expected value can be woken.
fn sleeps<W: Words>() -> Result<(), String> {
    const PATIENCE: Duration = Duration::from_secs(5);
    static WORD: AtomicU32 = AtomicU32::new(0);
    let sleeper = spawn(0, || W::wait(&WORD, 0));
    let start = Instant::now();
    while W::wake(&WORD, 1) == 0 {
        if start.elapsed() > PATIENCE {
            return Err("a thread that should wait on a word doesn't".to_owned());
        }
        std::thread::yield_now();
    }
    sleeper.join();
    Ok(())
}

fn check(tallies: &[Tally]) -> Result<(), String> {
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let (operations, mismatches) = (sum(|tally| tally.operations), sum(|tally| tally.mismatches));
    if mismatches == operations {
        Ok(())
    } else {
        Err(format!(
            "of {operations} waits only {mismatches} reported that the word holds another value"
        ))
    }
}

fn operate<W: Words>(contender: &Contender<'_, usize>) -> Tally {
    let words: Vec<AtomicU32> = (0..*contender.shared()).map(|_| AtomicU32::new(0)).collect();
    let (mut operations, mut mismatches) = (0, 0);
    while contender.goes_on() {
        // In runs, so that a huge array doesn't keep the thread from seeing the end.
        for run in words.chunks(1024) {
            for word in run {
                mismatches += u64::from(!W::wait(black_box(word), OTHER));
            }
            operations += run.len() as u64;
            contender.note(operations);
            if !contender.goes_on() {
                break;
            }
        }
    }
    Tally { operations, mismatches }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_waits_that_report_no_mismatch() {
        let tally = |operations, mismatches| Tally { operations, mismatches };
        assert!(check(&[tally(3, 3), tally(2, 2)]).is_ok());
        assert!(check(&[tally(3, 3), tally(2, 1)]).is_err());
    }
}
