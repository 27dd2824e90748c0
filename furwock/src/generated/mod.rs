//! Generated models: random programs on each object, under random schedules, checked against what
//! the object promises.
//!
//! The models in `models` and `random_schedules` begin where their authors thought to begin. Here a
//! seed draws how the object is found (biased, hot, with slots that speak of the lock that lay
//! there before, with bits of a forked child's parent, beside waiters of something else), what two
//! to six threads do with it, and the schedule. Each object has a file that says what is checked:
//!
//! | file | object |
//! |---|---|
//! | `rwlock`, `rwlock_program` | `RawRwLock` |
//! | `mutex` | `RawMutex` and its attempts |
//! | `condvar` | `RawCondvar` with mutexes |
//! | `semaphore` | `RawSemaphore` |
//! | `barrier` | `RawBarrier` |
//! | `words`, `words_program` | futex words, registrations, futures |
//!
//! A lost wakeup shows as a deadlock that shuttle reports, or as a program with too many steps.
//! `mutants` shows what the programs find.
//!
//! shuttle is sequentially consistent: nothing here is evidence on orderings, which is loom's
//! business. The facade's limits are the other models': time is only order (a deadline has always
//! passed, no thread's turn is ever over), a row has one slot, the table two buckets, whose locks
//! are the checker's own. Signal handlers don't run, and memory never runs out.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test --release -p furwock --lib generated
//! ```
//!
//! With `FURWOCK_GENERATED_SECONDS=3600` each object's programs run for so long; the fresh seeds
//! that they begin with are printed. `FURWOCK_GENERATED_SEED=rwlock:0x2a` repeats one program with
//! its schedule.

mod barrier;
mod condvar;
mod foreign;
mod ground;
mod mutants;
mod mutex;
mod random;
mod runner;
mod rwlock;
mod rwlock_program;
mod scheduler;
mod semaphore;
mod words;
mod words_program;

use runner::{Extent, Object, explore, repeat, shrunk};
use std::time::{Duration, Instant, SystemTime};

/// Programs from the same seeds each time, and as many from fresh ones.
const PROGRAMS: u64 = 30_000;

/// How long a failing program is made smaller.
const SHRINKING: Duration = Duration::from_secs(60);

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The seed that the environment names for programs on `O`.
fn named_seed<O: Object>() -> Option<u64> {
    let named = variable("FURWOCK_GENERATED_SEED")?;
    let (object, seed) = named.split_once(':').expect("an object and a seed, as rwlock:0x2a");
    let digits = seed.strip_prefix("0x").expect("a seed begins with 0x");
    let seed = u64::from_str_radix(digits, 16).expect("a seed is a number");
    Some(if object == O::NAME { seed } else { return None })
}

fn passes<O: Object>() {
    if variable("FURWOCK_GENERATED_SEED").is_some() {
        if let Some(seed) = named_seed::<O>() {
            passes_from::<O>(seed, Extent::Programs(1));
        }
        return;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let fresh = random::Random::new(now.map_or(0, |now| now.as_nanos() as u64)).next();
    match variable("FURWOCK_GENERATED_SECONDS") {
        Some(seconds) => {
            let seconds = seconds.parse().expect("a number of seconds");
            passes_from::<O>(fresh, Extent::Time(Duration::from_secs(seconds)));
        }
        None => {
            passes_from::<O>(1, Extent::Programs(PROGRAMS));
            passes_from::<O>(fresh, Extent::Programs(PROGRAMS));
        }
    }
}

fn passes_from<O: Object>(first: u64, extent: Extent) {
    let name = O::NAME;
    let begin = Instant::now();
    match explore::<O>(first, extent) {
        Ok(programs) => {
            let took = begin.elapsed();
            let rate = programs as f64 / took.as_secs_f64();
            println!(
                "{name}: {programs} programs from seed {first:#x}, {took:.1?}, {rate:.0} a second"
            );
        }
        Err(failure) => {
            println!("{failure}");
            let small = shrunk(&failure, SHRINKING);
            println!("made smaller:\n{small}its schedule follows.");
            repeat(&small.program, small.seed);
            panic!("FURWOCK_GENERATED_SEED={name}:{:#x} repeats: {}", failure.seed, failure.said);
        }
    }
}

#[test]
fn programs_on_a_rwlock() {
    passes::<rwlock::RwLocks>();
}

#[test]
fn programs_on_a_mutex() {
    passes::<mutex::Mutexes>();
}

#[test]
fn programs_on_a_condvar() {
    passes::<condvar::Condvars>();
}

#[test]
fn programs_on_a_semaphore() {
    passes::<semaphore::Semaphores>();
}

#[test]
fn programs_on_a_barrier() {
    passes::<barrier::Barriers>();
}

#[test]
fn programs_on_words() {
    passes::<words::Words>();
}
