//! A storm of new objects: each round makes one, two to four threads meet at its first operations in
//! lockstep, and then it must be free again, with exact counts.
//!
//! Races of an object's beginning (the first bias of a rwlock, the first waiter of a condvar) happen once
//! in its life: a long run on old objects never meets them again. Rounds lie in a small pool of memory, so
//! that a mutex lies where a rwlock lay before, or a word with waiters that were leaked.
//!
//! This is the storm on the crate's types. `fresh/*.c` is the one on pthread's, for both sides.
//!
//! `lockstep` has the threads, `round` what a round checks, `locks`, `waits`, `words` and `kernel` the kinds,
//! `children` the rounds that fork.

mod children;
mod kernel;
mod locks;
mod lockstep;
mod pool;
mod round;
mod waits;
mod words;

use lockstep::{Team, lockstep, mortal};
use pool::Pool;
use round::{Kind, Random};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// No round takes as long, unless the machine makes it.
pub const STUCK: Duration = Duration::from_secs(2);

/// Threads that own a row of reader slots and do nothing, after the first quarter of a run: to look at
/// all rows takes longer then.
const IDLE: usize = 200;

/// Rounds for which the same threads meet.
const TEAM_ROUNDS: u64 = 500;

const KINDS: [&dyn Kind; 9] = [
    &locks::RwLocks,
    &locks::Mutexes,
    &waits::Condvars,
    &waits::Barriers,
    &waits::Semaphores,
    &words::Words,
    &kernel::PiMutexes,
    &kernel::RobustMutexes,
    &kernel::RobustRwLocks,
];

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// For how long.
    pub time: Duration,
    /// Repeats the choices, if not the schedule.
    pub seed: u64,
}

/// Runs the storm. A failed check ends the process with 1, and says what it was.
pub fn run(plan: Plan) {
    let mut random = Random::new(plan.seed);
    let pool = Pool::new();
    let rounds: [AtomicU64; KINDS.len()] = [const { AtomicU64::new(0) }; KINDS.len()];
    let mut children = 0;
    let (start, mut idle) = (Instant::now(), false);
    round::watch(plan.seed);
    while start.elapsed() < plan.time {
        if !idle && start.elapsed() > plan.time / 4 {
            idle = true;
            own_rows();
        }
        let team = Team {
            // Two run at the same time on two processors: the tightest.
            seats: [2, 2, 2, 3, 4][random.below(5) as usize],
            rounds: TEAM_ROUNDS,
            seed: random.next(),
        };
        lockstep(&team, &pool, &KINDS, &rounds);
        for _ in 0..8 {
            mortal(&team, random.next(), &pool, &KINDS, &rounds);
        }
        children += children::fork(&pool, &mut random);
    }
    let count = |at: usize| rounds[at].load(Ordering::Relaxed);
    let each: Vec<_> =
        (0..KINDS.len()).map(|at| format!("{} {}", KINDS[at].name(), count(at))).collect();
    let all: u64 = (0..KINDS.len()).map(count).sum();
    println!("passed: {all} rounds: {}; forked: {children}", each.join(", "));
}

/// Starts the threads that have read a biased lock, and never end.
fn own_rows() {
    let warm: &furwock::RwLock<()> = Box::leak(Box::default());
    (0..300).for_each(|_| drop(warm.read()));
    for _ in 0..IDLE {
        let begins = thread::Builder::new().stack_size(64 << 10).spawn(|| {
            (0..3).for_each(|_| drop(warm.read()));
            loop {
                thread::park();
            }
        });
        begins.expect("a thread can be started");
    }
}
