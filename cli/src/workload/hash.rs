//! hash, after `perf bench futex hash`: each thread waits on its own words in turn, with a value that
//! they don't hold, so that nothing but the way to a word's queue and back is measured.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;

use super::contest::{self, Outcome, Plan, Seat, summarise};
use super::implementation::for_words;
use super::parameters::{BadParameter, Parameters};
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

fn measure<W: Words>(shared: Hash) -> Result<Figures, String> {
    let threads = shared.plan.threads as f64;
    let Outcome { tallies, used, .. } = contest::run(shared, (), operate::<W>);
    let mut figures = summarise(&tallies, &used);
    figures.insert("ops_per_second_per_thread".to_owned(), figures["ops_per_second"] / threads);
    Ok(figures)
}

fn operate<W: Words>(seat: &Seat<'_, Hash, ()>) -> u64 {
    let words: Vec<AtomicU32> = (0..seat.plan().futexes).map(|_| AtomicU32::new(0)).collect();
    let mut operations = 0;
    while seat.goes_on() {
        // In runs, so that a huge array doesn't keep the thread from seeing the end.
        for run in words.chunks(1024) {
            run.iter().for_each(|word| W::wait(black_box(word), OTHER));
            operations += run.len() as u64;
            seat.note(operations);
            if !seat.goes_on() {
                break;
            }
        }
    }
    operations
}
