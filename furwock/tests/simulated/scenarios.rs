//! What threads do with the locks, and what must hold while they do. A scenario runs once in a
//! process: its locks are statics, so that they lie at the same addresses each time.

use furwock::lock::{Options, Outcome, RawBarrier, RawCondvar, RawMutex, RawRwLock, RawSemaphore};
use furwock::{Deadline, futex};
use machine::atomic::{AtomicU32, Ordering};
use machine::{Failure, Finished, Simulation, work_ns};
use std::cell::Cell;
use std::time::Duration;

/// A scenario, as run on some machine.
pub type Scenario = fn(Simulation) -> Result<(), Failure>;

/// All of them by name.
pub const ALL: [(&str, Scenario); 9] = [
    ("mutex", |simulation| contend(simulation, 8, 60, (2_000, 3_000)).map(drop)),
    ("mutex with timeouts", mutex_with_timeouts),
    ("rwlock", |simulation| rwlock(simulation, 8, 3)),
    ("upgrades", upgrades),
    ("condvar", condvar),
    ("bounded queue", bounded_queue),
    ("semaphore", semaphore),
    ("barrier", barrier),
    ("requeue", requeue),
];

/// Something that one thread at a time may be in, or several that only read.
#[derive(Default)]
pub struct Room {
    readers: Cell<u32>,
    writers: Cell<u32>,
    entered: Cell<u64>,
}

impl Room {
    /// Enters to write, and leaves.
    pub fn write(&self, ns: u64) {
        assert_eq!((self.readers.get(), self.writers.get()), (0, 0), "a writer isn't alone");
        self.writers.set(1);
        let entered = self.entered.get();
        work_ns(ns);
        self.entered.set(entered + 1);
        self.writers.set(0);
    }

    /// Enters to read, and leaves.
    pub fn read(&self, ns: u64) {
        assert_eq!(self.writers.get(), 0, "a reader meets a writer");
        self.readers.set(self.readers.get() + 1);
        work_ns(ns);
        assert_eq!(self.writers.get(), 0, "a writer meets a reader");
        self.readers.set(self.readers.get() - 1);
    }
}

static MUTEX: RawMutex = RawMutex::new();
static RWLOCK: RawRwLock = RawRwLock::new();
static CONDVAR: RawCondvar = RawCondvar::new();
static NOT_FULL: RawCondvar = RawCondvar::new();

/// Threads that take the mutex in turn, with sections of `inside` and pauses of `outside`.
pub fn contend(
    simulation: Simulation,
    threads: usize,
    rounds: u64,
    (inside, outside): (u64, u64),
) -> Result<Finished<()>, Failure> {
    let room = Room::default();
    let finished = simulation.run(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    MUTEX.lock();
                    room.write(inside);
                    MUTEX.unlock();
                    work_ns(outside);
                }
            });
        }
    })?;
    assert_eq!(room.entered.get(), threads as u64 * rounds);
    assert!(!MUTEX.is_locked());
    Ok(finished)
}

fn mutex_with_timeouts(simulation: Simulation) -> Result<(), Failure> {
    let room = Room::default();
    simulation.run(|scope| {
        for index in 0..8u64 {
            let room = &room;
            scope.spawn(move || {
                for round in 0..60 {
                    let timeout = Duration::from_nanos(20_000 + 7_000 * ((index * 7 + round) % 11));
                    let options = Options::new().until(Deadline::after(timeout));
                    let waits = (index + round) % 4 == 0;
                    if waits {
                        MUTEX.lock();
                    }
                    if waits || MUTEX.lock_with(&options).is_some() {
                        room.write(20_000);
                        MUTEX.unlock();
                    }
                    work_ns(10_000);
                }
            });
        }
    })?;
    assert!(!MUTEX.is_locked());
    Ok(())
}

/// Readers and writers.
pub fn rwlock(simulation: Simulation, readers: u64, writers: u64) -> Result<(), Failure> {
    let room = Room::default();
    simulation.run(|scope| {
        for index in 0..readers + writers {
            let room = &room;
            scope.spawn(move || {
                for _ in 0..40 {
                    if index < writers {
                        RWLOCK.lock_exclusive();
                        room.write(400);
                        RWLOCK.unlock_exclusive();
                    } else {
                        RWLOCK.lock_shared();
                        room.read(400);
                        RWLOCK.unlock_shared();
                    }
                    work_ns(600);
                }
            });
        }
    })?;
    assert_eq!(room.entered.get(), 40 * writers);
    assert!(!RWLOCK.is_locked());
    Ok(())
}

fn upgrades(simulation: Simulation) -> Result<(), Failure> {
    let room = Room::default();
    simulation.run(|scope| {
        for index in 0..10 {
            let room = &room;
            scope.spawn(move || {
                for _ in 0..40 {
                    if index < 3 {
                        RWLOCK.lock_upgradable();
                        room.read(500);
                        RWLOCK.upgrade();
                        room.write(500);
                        RWLOCK.downgrade();
                        room.read(500);
                        RWLOCK.unlock_shared();
                    } else {
                        RWLOCK.lock_shared();
                        room.read(8_000);
                        RWLOCK.unlock_shared();
                    }
                    work_ns(4_000);
                }
            });
        }
    })?;
    assert_eq!(room.entered.get(), 3 * 40);
    assert!(!RWLOCK.is_locked());
    Ok(())
}

/// Threads wait for rounds that one announces to all.
fn condvar(simulation: Simulation) -> Result<(), Failure> {
    const ROUNDS: u32 = 8;
    let round = Cell::new(0);
    let finished = simulation.run(|scope| {
        let round = &round;
        for _ in 0..40 {
            scope.spawn(move || {
                for mine in 1..=ROUNDS {
                    MUTEX.lock();
                    while round.get() < mine {
                        CONDVAR.wait(&MUTEX, None);
                    }
                    MUTEX.unlock();
                }
            });
        }
        for next in 1..=ROUNDS {
            // Some rounds find all asleep, some find them on their way.
            work_ns(u64::from(next % 3) * 1_000_000);
            MUTEX.lock();
            round.set(next);
            // With the mutex held, and without.
            if next % 2 == 0 {
                CONDVAR.notify_all();
            }
            MUTEX.unlock();
            if next % 2 == 1 {
                CONDVAR.notify_all();
            }
        }
    });
    finished.map(drop)
}

/// Threads that put items into a queue of few places, and threads that take them out.
fn bounded_queue(simulation: Simulation) -> Result<(), Failure> {
    const PLACES: u32 = 3;
    const ITEMS: u32 = 60;
    let (items, taken) = (Cell::new(0), Cell::new(0));
    simulation.run(|scope| {
        let (items, taken) = (&items, &taken);
        let step = move |wait: &'static RawCondvar, notify: &RawCondvar, blocked: u32, to: i32| {
            MUTEX.lock();
            while items.get() == blocked {
                let deadline = Deadline::after(Duration::from_millis(3));
                assert_ne!(wait.wait(&MUTEX, Some(&deadline)), Outcome::NotReleased);
            }
            items.set(items.get().wrapping_add_signed(to));
            notify.notify_one();
            MUTEX.unlock();
            work_ns(2_000);
        };
        for _ in 0..4 {
            scope.spawn(move || {
                (0..ITEMS).for_each(|_| step(&NOT_FULL, &CONDVAR, PLACES, 1));
            });
            scope.spawn(move || {
                for _ in 0..ITEMS {
                    step(&CONDVAR, &NOT_FULL, 0, -1);
                    taken.set(taken.get() + 1);
                }
            });
        }
    })?;
    assert_eq!((items.get(), taken.get()), (0, 4 * ITEMS));
    Ok(())
}

fn semaphore(simulation: Simulation) -> Result<(), Failure> {
    const PERMITS: u32 = 3;
    let semaphore = RawSemaphore::new(PERMITS).expect("few permits");
    let (inside, most) = (Cell::new(0), Cell::new(0));
    simulation.run(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                for _ in 0..30 {
                    semaphore.acquire();
                    inside.set(inside.get() + 1);
                    most.set(most.get().max(inside.get()));
                    work_ns(2_000);
                    inside.set(inside.get() - 1);
                    semaphore.release().expect("a permit that was taken");
                    work_ns(1_000);
                }
            });
        }
    })?;
    assert!(most.get() <= PERMITS, "{} at once", most.get());
    assert_eq!(semaphore.available(), PERMITS);
    Ok(())
}

fn barrier(simulation: Simulation) -> Result<(), Failure> {
    const THREADS: u32 = 32;
    const ROUNDS: u32 = 20;
    let (barrier, arrived, leaders) = (RawBarrier::new(), Cell::new(0), Cell::new(0));
    simulation.run(|scope| {
        let (barrier, arrived, leaders) = (&barrier, &arrived, &leaders);
        for index in 0..THREADS {
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    work_ns(u64::from(index) * 50);
                    arrived.set(arrived.get() + 1);
                    let leads = barrier.wait(THREADS);
                    leaders.set(leaders.get() + u32::from(leads));
                    assert!(arrived.get() >= round * THREADS, "one went ahead");
                }
            });
        }
    })?;
    assert_eq!(leaders.get(), ROUNDS);
    Ok(())
}

/// Threads wait on words, and are moved from each to the next, in both directions at the same time,
/// until all are woken.
fn requeue(simulation: Simulation) -> Result<(), Failure> {
    const WORDS: usize = 8;
    static PLACES: [AtomicU32; 16 * WORDS] = [const { AtomicU32::new(0) }; 16 * WORDS];
    // Each on a line of its own.
    let word = |index: usize| &PLACES[index % WORDS * 16];
    let finished = simulation.run(|scope| {
        let threads: Vec<_> =
            (0..40).map(|index| scope.spawn(move || futex::wait(word(index), 0, None))).collect();
        work_ns(2_000_000);
        let movers: Vec<_> = (0..2 * WORDS)
            .map(|index| {
                let step = if index < WORDS { 1 } else { WORDS - 1 };
                scope.spawn(move || {
                    for _ in 0..60 {
                        futex::requeue(word(index), word(index + step), 0, 3);
                    }
                })
            })
            .collect();
        movers.into_iter().for_each(|mover| mover.join());
        (0..WORDS).for_each(|index| word(index).store(1, Ordering::SeqCst));
        let woken: usize = (0..WORDS).map(|index| futex::wake_all(word(index))).sum();
        let waited: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        // A thread that came late has seen that its word changed.
        let slept = waited.iter().filter(|&&waited| waited == futex::Waited::Woken).count();
        assert_eq!(slept, woken);
    });
    finished.map(drop)
}
