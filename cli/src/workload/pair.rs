//! pair: what one thread pays for locking and unlocking when nobody else wants the lock.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::implementation::{Implementation, for_family};
use super::locks::{Family, Mutex, RwLock};
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::Figures;
use super::watchdog;
use super::work::{spin, take_and_release};
use crate::statistics::median;

/// The figure of what no lock can go below: a compare-and-exchange and an exchange.
pub const FLOOR: &str = "floor_ns";

/// The kinds of pairs, as figures name them: `KIND_IMPLEMENTATION_ns`.
pub const KINDS: [&str; 3] = ["mutex", "read", "write"];

/// Runs as many pairs as it is told.
type Pairs = Box<dyn Fn(u64)>;

/// One of the things measured.
struct Subject {
    figure: String,
    pairs: Pairs,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let names = parameters.take("impl", "pthread".to_owned())?;
    let implementations =
        names.split(',').map(Implementation::named).collect::<Result<Vec<_>, _>>()?;
    let slices = parameters.take_count("slices", 100)?;
    let pairs = parameters.take_count("pairs", 10_000)? as u64;
    let limit_s = parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?;
    parameters.finish()?;
    if let Some(reason) = implementations.iter().find_map(|each| each.absent()) {
        return Ok(Err(reason));
    }
    // The watchdog is one thread more, but others must not rely on that.
    watchdog::start(limit_s, Figures::new);
    keep_company();
    Ok(measure(&implementations, slices, pairs))
}

/// Locks may do without locked instructions in a process of one thread. This isn't one: a second
/// thread sleeps for as long as the process lives.
fn keep_company() {
    let gate: &'static Gate = Box::leak(Box::new(Gate::new(1)));
    spawn(0, || gate.pass());
    gate.wait_for_all();
}

/// Slices of all subjects in turn, so that whatever disturbs the machine disturbs all alike.
fn measure(
    implementations: &[Implementation],
    slices: usize,
    pairs: u64,
) -> Result<Figures, String> {
    let mut subjects = vec![Subject { figure: FLOOR.to_owned(), pairs: floor() }];
    for implementation in implementations {
        let of_each_kind = for_family!(*implementation, kinds())?;
        subjects.extend(
            KINDS.into_iter().zip(of_each_kind).map(|(kind, pairs)| Subject {
                figure: figure(kind, implementation.name()),
                pairs,
            }),
        );
    }
    for implementation in implementations {
        for_family!(*implementation, excludes(implementation.name()))?;
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

/// One thread alone can't tell a lock from none: before it is measured, two contend for it.
fn excludes<F: Family>(name: &str) -> Result<(), String> {
    const EACH: u64 = 10_000;
    let locks = Arc::new((F::Mutex::<u64>::new(0), F::RwLock::<u64>::new(0)));
    // Read before and written after something else: whoever else gets in is lost from the count.
    let add = |count: &mut u64| {
        let seen = black_box(*count);
        spin(20);
        // On one processor nobody else would come in between otherwise.
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
    Err(format!("{name}: two threads' {} operations left counts of {counts:?}", 2 * EACH))
}

pub fn figure(kind: &str, implementation: &str) -> String {
    format!("{kind}_{implementation}_ns")
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

fn floor() -> Pairs {
    let word = Box::new(AtomicU32::new(0));
    Box::new(move |pairs| take_and_release(&word, pairs))
}

/// Mutex, reader, writer.
fn kinds<F: Family>() -> Result<[Pairs; 3], String> {
    let (mutex, reading, writing) =
        (F::Mutex::<u64>::new(0), F::RwLock::<u64>::new(0), F::RwLock::<u64>::new(0));
    Ok([
        Box::new(move |pairs| (0..pairs).for_each(|_| mutex.with(|data| *data += 1))),
        Box::new(move |pairs| {
            (0..pairs).for_each(|_| {
                reading.read(|data| black_box(*data));
            });
        }),
        Box::new(move |pairs| (0..pairs).for_each(|_| writing.write(|data| *data += 1))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_each_kind_of_each_implementation_and_the_floor() {
        let figures = measure(&[Implementation::Std, Implementation::Furwock], 3, 10).unwrap();
        assert_eq!(figures.len(), 7);
        assert!(figures[FLOOR] > 0.0 && figures["write_furwock_ns"] > 0.0, "{figures:?}");
    }
}
