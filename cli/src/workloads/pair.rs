//! pair: what one thread pays for locking and unlocking an uncontended lock.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::contestants::locks::{Family, Mutex, RwLock, families};
use crate::contestants::{Contestant, Table, choose, names_of};
use crate::harness::{Failed, Figures, Gate, Parameters, spawn, spin, take_and_release};
use crate::statistics::median;

/// The figure of the least time that any lock takes: a compare-and-exchange and an exchange.
pub const FLOOR: &str = "floor_ns";

/// The kinds of pairs, as in the figures' names: `KIND_CONTESTANT_ns`.
pub const KINDS: [&str; 3] = ["mutex", "read", "write"];

/// Runs this many pairs of calls.
type Pairs = Box<dyn Fn(u64)>;

/// One of the things measured.
struct Subject {
    figure: String,
    pairs: Pairs,
}

/// Mutex, reader, writer.
const SUBJECTS: &Table<fn() -> [Pairs; 3]> = &families!(kinds);
pub fn able() -> Vec<Contestant> {
    names_of(SUBJECTS)
}

type Check = fn(Contestant) -> Result<(), String>;
const CHECKS: &Table<Check> = &families!(excludes);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let contestants = given.contestants()?;
    let slices = given.count("slices", 100)?;
    let pairs = given.count("pairs", 10_000)? as u64;
    given.finish()?;
    start_a_second_thread();
    Ok(measure(&contestants, slices, pairs)?)
}

/// Locks may omit atomic instructions in a process of one thread. So a second thread sleeps as long
/// as the process lives.
fn start_a_second_thread() {
    let gate: &'static Gate = Box::leak(Box::new(Gate::new(1)));
    spawn(0, || gate.pass());
    gate.wait_for_all();
}

/// Slices of all subjects in turn, so that disturbances affect all alike.
fn measure(contestants: &[Contestant], slices: usize, pairs: u64) -> Result<Figures, String> {
    let mut subjects = vec![Subject { figure: FLOOR.to_owned(), pairs: floor() }];
    for contestant in contestants {
        let of_each_kind = KINDS.into_iter().zip(choose(SUBJECTS, *contestant)?());
        subjects.extend(
            of_each_kind.map(|(kind, pairs)| Subject { figure: figure(kind, *contestant), pairs }),
        );
    }
    for contestant in contestants {
        choose(CHECKS, *contestant)?(*contestant)?;
    }
    subjects.iter().for_each(|subject| (subject.pairs)(pairs));
    let mut times: Vec<Vec<f64>> = subjects.iter().map(|_| Vec::with_capacity(slices)).collect();
    for _ in 0..slices {
        for (subject, times) in subjects.iter().zip(&mut times) {
            let start = Instant::now();
            (subject.pairs)(pairs);
            times.push(nanoseconds(start.elapsed()) / pairs as f64);
        }
    }
    let figure = |(subject, times): (Subject, Vec<f64>)| (subject.figure, median(&times));
    Ok(subjects.into_iter().zip(times).map(figure).collect())
}

/// A single thread can't find out whether a lock excludes: two contend for each before it is
/// measured.
fn excludes<F: Family>(contestant: Contestant) -> Result<(), String> {
    const EACH: u64 = 10_000;
    let locks = Arc::new((F::Mutex::<u64>::new(0), F::RwLock::<u64>::new(0)));
    // Read before and written after the work: if the other thread gets in, its count is lost.
    let add = |count: &mut u64| {
        let seen = black_box(*count);
        spin(20);
        // On one processor the other thread would not come in between otherwise.
        if seen.is_multiple_of(64) {
            std::thread::yield_now();
        }
        *black_box(count) = seen + 1;
    };
    let contend = move |locks: Arc<(F::Mutex<u64>, F::RwLock<u64>)>| {
        for _ in 0..EACH {
            locks.0.with(add);
            locks.1.write(add);
            locks.1.read(|count| black_box(*count));
        }
    };
    // They begin at once: it takes less time than to wake a thread.
    let here = Arc::new(AtomicU32::new(0));
    let (theirs, other_here) = (Arc::clone(&locks), Arc::clone(&here));
    let meet = |here: &AtomicU32| {
        here.fetch_add(1, SeqCst);
        while here.load(SeqCst) < 2 {
            std::thread::yield_now();
        }
    };
    let other = spawn(0, move || {
        meet(&other_here);
        contend(theirs);
    });
    meet(&here);
    contend(Arc::clone(&locks));
    other.join();
    let counts = (locks.0.with(|count| *count), locks.1.read(|count| *count));
    if counts == (2 * EACH, 2 * EACH) {
        return Ok(());
    }
    Err(format!("{contestant}: two threads' {} operations left counts of {counts:?}", 2 * EACH))
}

pub fn figure(kind: &str, contestant: Contestant) -> String {
    format!("{kind}_{contestant}_ns")
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

fn floor() -> Pairs {
    let word = Box::new(AtomicU32::new(0));
    Box::new(move |pairs| take_and_release(&word, pairs))
}

fn kinds<F: Family>() -> [Pairs; 3] {
    let (mutex, reading, writing) =
        (F::Mutex::<u64>::new(0), F::RwLock::<u64>::new(0), F::RwLock::<u64>::new(0));
    [
        Box::new(move |pairs| (0..pairs).for_each(|_| mutex.with(|data| *data += 1))),
        Box::new(move |pairs| {
            (0..pairs).for_each(|_| {
                reading.read(|data| black_box(*data));
            });
        }),
        Box::new(move |pairs| (0..pairs).for_each(|_| writing.write(|data| *data += 1))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_each_kind_of_each_implementation_and_the_floor() {
        let figures = measure(&[Contestant::Std, Contestant::Furwock], 3, 10).unwrap();
        assert_eq!(figures.len(), 7);
        assert!(figures[FLOOR] > 0.0 && figures["write_furwock_ns"] > 0.0, "{figures:?}");
    }
}
