//! hash, after `perf bench futex hash`: each thread waits on its own words in turn, with a value that
//! they don't hold, so that nothing but the way to a word's queue and back is measured.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use super::contest::{self, Outcome, Plan, Seat, summarise};
use super::implementation::for_words;
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::Figures;
use super::words::Words;

/// Never what a word holds.
const OTHER: u32 = 1234;

struct Hash {
    plan: Plan,
    futexes: usize,
}

impl AsRef<Plan> for Hash {
    fn as_ref(&self) -> &Plan {
        &self.plan
    }
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let between_processes = parameters.take("shared", 0u32)? != 0;
    let shared = Hash {
        futexes: parameters.take_count("futexes", 1024)?,
        plan: Plan::take(&mut parameters)?,
    };
    parameters.finish()?;
    Ok(for_words!(shared.plan.implementation, between_processes, measure(shared)))
}

struct Tally {
    operations: u64,
    /// How often it was told that the word doesn't hold what was expected.
    mismatches: u64,
}

fn measure<W: Words>(shared: Hash) -> Result<Figures, String> {
    sleeps::<W>()?;
    let threads = shared.plan.threads as f64;
    let Outcome { tallies, used, .. } = contest::run(shared, (), operate::<W>);
    check(&tallies)?;
    let operations: Vec<u64> = tallies.iter().map(|tally| tally.operations).collect();
    let mut figures = summarise(&operations, &used);
    figures.insert("ops_per_second_per_thread".to_owned(), figures["ops_per_second"] / threads);
    Ok(figures)
}

/// Whoever never sleeps is fast. A thread that waits on a word that holds what it expects is there to be
/// woken.
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
            "of {operations} waits {mismatches} were told that the word holds another value"
        ))
    }
}

fn operate<W: Words>(seat: &Seat<'_, Hash, ()>) -> Tally {
    let words: Vec<AtomicU32> = (0..seat.plan().futexes).map(|_| AtomicU32::new(0)).collect();
    let (mut operations, mut mismatches) = (0, 0);
    while seat.goes_on() {
        // In runs, so that a huge array doesn't keep the thread from seeing the end.
        for run in words.chunks(1024) {
            for word in run {
                mismatches += u64::from(!W::wait(black_box(word), OTHER));
            }
            operations += run.len() as u64;
            seat.note(operations);
            if !seat.goes_on() {
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
    fn rejects_waits_that_were_not_told() {
        let tally = |operations, mismatches| Tally { operations, mismatches };
        assert!(check(&[tally(3, 3), tally(2, 2)]).is_ok());
        assert!(check(&[tally(3, 3), tally(2, 1)]).is_err());
    }
}
