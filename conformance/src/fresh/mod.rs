//! A storm of new objects: each round makes one, two to four threads meet at its first operations
//! in lockstep, and then it must be free again, with exact counts.
//!
//! Races of an object's beginning (the first bias of a rwlock, the first waiter of a condvar)
//! happen once in its life: a long run on old objects never meets them again. Rounds lie in a small
//! pool of memory, so that a mutex lies where a rwlock lay before, or a word with waiters that were
//! leaked.
//!
//! It has two faces: the crate's types, and pthread's objects, which also run on glibc.
//!
//! `lockstep` has the threads, `round` what a round checks, `locks`, `waits`, `words`, `kernel` and
//! `pthread` the kinds, `children` the rounds that fork.

mod children;
mod kernel;
mod locks;
mod lockstep;
mod pool;
mod pthread;
mod round;
mod waits;
mod words;

use lockstep::{Team, lockstep, mortal};
use pool::Pool;
use round::{AnyKind, Random};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A round that takes longer counts as stuck, unless the machine is at fault.
pub const STUCK: Duration = Duration::from_secs(2);

/// After the first quarter of a run so many threads own a row of reader slots and do nothing: a
/// writer has to look at them all, which takes longer.
const IDLE: usize = 200;

/// How many rounds the same threads meet for.
const TEAM_ROUNDS: u64 = 500;

const KINDS: [&dyn AnyKind; 9] = [
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

/// The interface whose objects are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// The crate's types.
    Crate,
    /// pthread's.
    Pthread,
}

impl Face {
    /// All faces.
    pub const ALL: [Self; 2] = [Face::Crate, Face::Pthread];

    /// Its name in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Face::Crate => "crate",
            Face::Pthread => "pthread",
        }
    }

    fn kinds(self) -> &'static [&'static dyn AnyKind] {
        match self {
            Face::Crate => &KINDS,
            Face::Pthread => &pthread::KINDS,
        }
    }

    fn fork(self, pool: &Pool, random: &mut Random) -> u64 {
        match self {
            Face::Crate => children::fork::<children::Own>(pool, random),
            Face::Pthread => children::fork::<pthread::Objects>(pool, random),
        }
    }
}

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The objects to use.
    pub face: Face,
    /// How long to run.
    pub time: Duration,
    /// The seed, which repeats a run's choices but not its schedule.
    pub seed: u64,
}

/// Runs the storm. A failed check ends the process with status 1 and a message.
pub fn run(plan: Plan) {
    let kinds = plan.face.kinds();
    let mut random = Random::new(plan.seed);
    let pool: &'static Pool = Box::leak(Box::new(Pool::new()));
    let rounds: Vec<_> = kinds.iter().map(|_| AtomicU64::new(0)).collect();
    let mut children = 0;
    let (start, mut idle) = (Instant::now(), false);
    round::watch(plan.seed, kinds);
    if plan.face == Face::Pthread {
        pthread::leave_stale_waiters(pool);
    }
    while start.elapsed() < plan.time {
        if !idle && start.elapsed() > plan.time / 4 {
            idle = true;
            own_rows(plan.face);
        }
        let team = Team {
            // Mostly two, which meet most closely: they run at once on two processors.
            seats: [2, 2, 2, 3, 4][random.below(5) as usize],
            rounds: TEAM_ROUNDS,
            seed: random.next(),
        };
        lockstep(&team, pool, kinds, &rounds);
        for _ in 0..8 {
            mortal(&team, random.next(), pool, kinds, &rounds);
        }
        children += plan.face.fork(pool, &mut random);
    }
    let counts: Vec<_> = rounds.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let each = kinds.iter().zip(&counts).map(|(kind, count)| format!("{} {count}", kind.name()));
    let (each, all) = (each.collect::<Vec<_>>().join(", "), counts.iter().sum::<u64>());
    println!("passed: {all} rounds: {each}; forked: {children}");
}

/// Starts threads that read a biased lock, so that they own a row, and never end.
fn own_rows(face: Face) {
    let warm: &furwock::RwLock<()> = Box::leak(Box::default());
    let read = move || match face {
        Face::Crate => drop(warm.read()),
        Face::Pthread => pthread::read_warm(),
    };
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    (0..300).for_each(|_| read());
    for _ in 0..IDLE {
        let begins = thread::Builder::new().stack_size(64 << 10).spawn(move || {
            (0..3).for_each(|_| read());
            BEGUN.fetch_add(1, Ordering::Release);
            loop {
                thread::park();
            }
        });
        begins.expect("a thread can be started");
    }
    // No child is forked while one begins (see `children`).
    while BEGUN.load(Ordering::Acquire) < IDLE {
        thread::yield_now();
    }
}
