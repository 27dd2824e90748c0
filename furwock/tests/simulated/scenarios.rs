//! What threads do with the locks, and what must hold while they do. A scenario runs once in a
//! process: its locks are statics, so that they lie at the same addresses each time.

use furwock::Deadline;
use furwock::futex::{self, AnyWaited, Expected};
use furwock::lock::{Options, Outcome, RawBarrier, RawCondvar, RawMutex, RawRwLock, RawSemaphore};
use machine::atomic::{AtomicU32, Ordering};
use machine::{At, Failure, Finished, Simulation, last_access, work_ns};
use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::time::Duration;

/// A scenario, as run on some machine.
///
/// Returns the virtual time that it took.
pub type Scenario = fn(Simulation) -> Result<u64, Failure>;

/// All of them by name.
pub const ALL: [(&str, Scenario); 11] = [
    ("mutex", |simulation| contend(simulation, 8, 60, (2_000, 3_000)).map(took)),
    // Waiters wait for longer than it takes until they ask for a hand-off.
    ("mutex with hand-offs", |simulation| contend(simulation, 6, 5, (4_000_000, 0)).map(took)),
    ("mutex with timeouts", mutex_with_timeouts),
    ("rwlock", |simulation| rwlock(simulation, 8, 3)),
    ("upgrades", upgrades),
    ("condvar", condvar),
    ("bounded queue", bounded_queue),
    ("semaphore", semaphore),
    ("barrier", barrier),
    ("requeue", requeue),
    ("any word", any_word),
];

fn took(finished: Finished<()>) -> u64 {
    finished.now_ns
}

/// Which part of a lock's use a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It takes the lock, or waits.
    Take,
    /// It gives the lock back, hands it over, or wakes.
    Give,
}

/// A call of a thread: the accesses that the thread made in it.
#[derive(Clone, Debug)]
pub struct Call {
    pub step: Step,
    pub thread: usize,
    pub accesses: RangeInclusive<u64>,
}

std::thread_local! {
    /// The calls of this process's scenario. (Simulated threads run on one thread of the host.)
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// The calls that the scenario of this process has made.
pub fn calls() -> Vec<Call> {
    CALLS.take()
}

fn noted<R>(step: Step, call: impl FnOnce() -> R) -> R {
    let number = || match last_access() {
        At::Thread { thread, access } => (thread, access),
        At::Processor { .. } => unreachable!("an access of the calling thread"),
    };
    let (thread, before) = number();
    let result = call();
    let (_, last) = number();
    CALLS.with_borrow_mut(|calls| calls.push(Call { step, thread, accesses: before + 1..=last }));
    result
}

fn take<R>(call: impl FnOnce() -> R) -> R {
    noted(Step::Take, call)
}

fn give<R>(call: impl FnOnce() -> R) -> R {
    noted(Step::Give, call)
}

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
                    take(|| MUTEX.lock());
                    room.write(inside);
                    give(|| MUTEX.unlock());
                    work_ns(outside);
                }
            });
        }
    })?;
    assert_eq!(room.entered.get(), threads as u64 * rounds);
    assert!(!MUTEX.is_locked());
    Ok(finished)
}

fn mutex_with_timeouts(simulation: Simulation) -> Result<u64, Failure> {
    let room = Room::default();
    let finished = simulation.run(|scope| {
        for index in 0..8u64 {
            let room = &room;
            scope.spawn(move || {
                for round in 0..60 {
                    let timeout = Duration::from_nanos(20_000 + 7_000 * ((index * 7 + round) % 11));
                    let options = Options::new().until(Deadline::after(timeout));
                    let waits = (index + round) % 4 == 0;
                    if waits {
                        take(|| MUTEX.lock());
                    }
                    if waits || take(|| MUTEX.lock_with(&options)).is_some() {
                        room.write(20_000);
                        give(|| MUTEX.unlock());
                    }
                    work_ns(10_000);
                }
            });
        }
    })?;
    assert!(!MUTEX.is_locked());
    Ok(finished.now_ns)
}

/// Readers and writers.
pub fn rwlock(simulation: Simulation, readers: u64, writers: u64) -> Result<u64, Failure> {
    let room = Room::default();
    let finished = simulation.run(|scope| {
        for index in 0..readers + writers {
            let room = &room;
            scope.spawn(move || {
                for _ in 0..40 {
                    if index < writers {
                        take(|| RWLOCK.lock_exclusive());
                        room.write(400);
                        give(|| RWLOCK.unlock_exclusive());
                    } else {
                        take(|| RWLOCK.lock_shared());
                        room.read(400);
                        give(|| RWLOCK.unlock_shared());
                    }
                    work_ns(600);
                }
            });
        }
    })?;
    assert_eq!(room.entered.get(), 40 * writers);
    assert!(!RWLOCK.is_locked());
    Ok(finished.now_ns)
}

/// Threads that read nothing and, one time in ten, write nothing.
pub fn come_and_go(
    simulation: Simulation,
    threads: u64,
    rounds: u64,
) -> Result<Finished<()>, Failure> {
    let room = Room::default();
    let finished = simulation.run(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for round in 0..rounds {
                    if round % 10 == 0 {
                        RWLOCK.lock_exclusive();
                        room.write(0);
                        RWLOCK.unlock_exclusive();
                    } else {
                        RWLOCK.lock_shared();
                        room.read(0);
                        RWLOCK.unlock_shared();
                    }
                    work_ns(5);
                }
            });
        }
    })?;
    assert_eq!(room.entered.get(), rounds / 10 * threads);
    Ok(finished)
}

fn upgrades(simulation: Simulation) -> Result<u64, Failure> {
    let room = Room::default();
    let finished = simulation.run(|scope| {
        for index in 0..10 {
            let room = &room;
            scope.spawn(move || {
                for _ in 0..40 {
                    if index < 3 {
                        take(|| RWLOCK.lock_upgradable());
                        room.read(500);
                        take(|| RWLOCK.upgrade());
                        room.write(500);
                        give(|| RWLOCK.downgrade());
                        room.read(500);
                        give(|| RWLOCK.unlock_shared());
                    } else {
                        take(|| RWLOCK.lock_shared());
                        room.read(8_000);
                        give(|| RWLOCK.unlock_shared());
                    }
                    work_ns(4_000);
                }
            });
        }
    })?;
    assert_eq!(room.entered.get(), 3 * 40);
    assert!(!RWLOCK.is_locked());
    Ok(finished.now_ns)
}

/// Threads wait for rounds that one announces to all.
fn condvar(simulation: Simulation) -> Result<u64, Failure> {
    const ROUNDS: u32 = 8;
    let round = Cell::new(0);
    let finished = simulation.run(|scope| {
        let round = &round;
        for _ in 0..40 {
            scope.spawn(move || {
                for mine in 1..=ROUNDS {
                    MUTEX.lock();
                    while round.get() < mine {
                        take(|| CONDVAR.wait(&MUTEX, None));
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
                give(|| CONDVAR.notify_all());
            }
            MUTEX.unlock();
            if next % 2 == 1 {
                give(|| CONDVAR.notify_all());
            }
        }
    });
    finished.map(|finished| finished.now_ns)
}

/// Threads that put items into a queue of few places, and threads that take them out.
fn bounded_queue(simulation: Simulation) -> Result<u64, Failure> {
    const PLACES: u32 = 3;
    const ITEMS: u32 = 60;
    let (items, taken) = (Cell::new(0), Cell::new(0));
    let finished = simulation.run(|scope| {
        let (items, taken) = (&items, &taken);
        let step = move |wait: &'static RawCondvar, notify: &RawCondvar, blocked: u32, to: i32| {
            MUTEX.lock();
            while items.get() == blocked {
                let deadline = Deadline::after(Duration::from_millis(3));
                let outcome = take(|| wait.wait(&MUTEX, Some(&deadline)));
                assert_ne!(outcome, Outcome::NotReleased);
            }
            items.set(items.get().wrapping_add_signed(to));
            give(|| notify.notify_one());
            give(|| MUTEX.unlock());
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
    Ok(finished.now_ns)
}

fn semaphore(simulation: Simulation) -> Result<u64, Failure> {
    const PERMITS: u32 = 3;
    let semaphore = RawSemaphore::new(PERMITS).expect("few permits");
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let finished = simulation.run(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                for _ in 0..30 {
                    take(|| semaphore.acquire());
                    inside.set(inside.get() + 1);
                    most.set(most.get().max(inside.get()));
                    work_ns(2_000);
                    inside.set(inside.get() - 1);
                    give(|| semaphore.release()).expect("a permit that was taken");
                    work_ns(1_000);
                }
            });
        }
    })?;
    assert!(most.get() <= PERMITS, "{} at once", most.get());
    assert_eq!(semaphore.available(), PERMITS);
    Ok(finished.now_ns)
}

fn barrier(simulation: Simulation) -> Result<u64, Failure> {
    const THREADS: u32 = 32;
    const ROUNDS: u32 = 20;
    let (barrier, arrived, leaders) = (RawBarrier::new(), Cell::new(0), Cell::new(0));
    let finished = simulation.run(|scope| {
        let (barrier, arrived, leaders) = (&barrier, &arrived, &leaders);
        for index in 0..THREADS {
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    work_ns(u64::from(index) * 50);
                    arrived.set(arrived.get() + 1);
                    let leads = take(|| barrier.wait(THREADS));
                    leaders.set(leaders.get() + u32::from(leads));
                    assert!(arrived.get() >= round * THREADS, "one went ahead");
                }
            });
        }
    })?;
    assert_eq!(leaders.get(), ROUNDS);
    Ok(finished.now_ns)
}

/// Threads wait on words, and are moved from each to the next, in both directions at the same time,
/// until all are woken.
fn requeue(simulation: Simulation) -> Result<u64, Failure> {
    const WORDS: usize = 8;
    static PLACES: [AtomicU32; 16 * WORDS] = [const { AtomicU32::new(0) }; 16 * WORDS];
    // Each on a line of its own.
    let word = |index: usize| &PLACES[index % WORDS * 16];
    let finished = simulation.run(|scope| {
        let threads: Vec<_> = (0..40)
            .map(|index| scope.spawn(move || take(|| futex::wait(word(index), 0, None))))
            .collect();
        work_ns(2_000_000);
        let movers: Vec<_> = (0..2 * WORDS)
            .map(|index| {
                let step = if index < WORDS { 1 } else { WORDS - 1 };
                scope.spawn(move || {
                    for _ in 0..60 {
                        give(|| futex::requeue(word(index), word(index + step), 0, 3));
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
    finished.map(|finished| finished.now_ns)
}

/// Threads that each wait for items on several words, of which others wait for some, too. A wake
/// is for one item: one that is lost, or taken by a waiter that another word woke, leaves a thread
/// asleep beside an item.
fn any_word(simulation: Simulation) -> Result<u64, Failure> {
    const WORDS: usize = 6;
    const ITEMS: u32 = 30;
    const CLOSED: u32 = 1 << 31;
    static PLACES: [AtomicU32; 16 * WORDS] = [const { AtomicU32::new(0) }; 16 * WORDS];
    let word = |index: usize| &PLACES[index % WORDS * 16];
    let taken = Cell::new(0);
    // Takes an item, if there is one.
    let take_item = |word: &AtomicU32| {
        let less = |items: u32| (items & !CLOSED != 0).then(|| items - 1);
        word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    };
    let finished = simulation.run(|scope| {
        let (taken, take_item) = (&taken, &take_item);
        for index in 0..9 {
            scope.spawn(move || {
                let mine = [word(index), word(index + 1), word(index + 3)];
                let mut first = 0;
                loop {
                    // The word first whose wake it got.
                    let order = (first..mine.len()).chain(0..first);
                    if order.into_iter().any(|at| take_item(mine[at])) {
                        taken.set(taken.get() + 1);
                        work_ns(3_000);
                        continue;
                    }
                    let is_open = |at: &usize| mine[*at].load(Ordering::SeqCst) != CLOSED;
                    let open: Vec<usize> = (0..mine.len()).filter(is_open).collect();
                    if open.is_empty() {
                        break;
                    }
                    let empty = |at: &usize| Expected::new(mine[*at], 0u32);
                    let expected: Vec<Expected<'_>> = open.iter().map(empty).collect();
                    if let AnyWaited::Woken(at) = take(|| futex::wait_any(&expected, None)) {
                        first = open[at];
                    }
                }
            });
        }
        let makers: Vec<_> = (0..WORDS)
            .map(|index| {
                scope.spawn(move || {
                    for item in 0..ITEMS {
                        work_ns(u64::from(item % 4) * 5_000);
                        word(index).fetch_add(1, Ordering::SeqCst);
                        give(|| futex::wake(word(index), 1));
                    }
                })
            })
            .collect();
        makers.into_iter().for_each(|maker| maker.join());
        for index in 0..WORDS {
            word(index).fetch_or(CLOSED, Ordering::SeqCst);
            give(|| futex::wake_all(word(index)));
        }
    })?;
    assert_eq!(taken.get(), WORDS as u32 * ITEMS);
    Ok(finished.now_ns)
}
