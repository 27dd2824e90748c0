//! The locks on simulated machines: they exclude, lose no wakeup, and a seed repeats a run.
//!
//! `RUSTFLAGS="--cfg simulated" cargo test --release -p furwock --test simulated`

#![cfg(simulated)]

use furwock::lock::{RawBarrier, RawCondvar, RawMutex, RawRwLock, RawSemaphore};
use furwock::{Deadline, futex};
use machine::atomic::AtomicU32;
use machine::{
    At, Disturbance, Failure, Finished, Machine, Scope, Simulation, isolated, virtual_ns, work_ns,
};
use std::cell::Cell;
use std::time::Duration;

const MACHINES: [&str; 4] = ["xeon-kvm-2", "sixteen", "opteron-8x8", "epyc-2x64"];

fn simulation(name: &str, seed: u64) -> Simulation {
    let machine = Machine::named(name).unwrap_or_else(|bad| panic!("{bad}"));
    Simulation::new(&machine, seed).limit_ns(20_000_000_000).trace(60)
}

/// Runs in a process of its own, since furwock's tables live as long as their process.
#[track_caller]
fn alone(job: impl FnOnce() -> Result<(), Failure>) {
    let result = isolated(|| job().err().map_or(Vec::new(), |failure| failure.to_string().into()));
    let said = result.unwrap_or_else(|crash| panic!("{crash}"));
    assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

/// Something that one thread at a time may be in, or several that only read.
#[derive(Default)]
struct Room {
    readers: Cell<u32>,
    writers: Cell<u32>,
    entered: Cell<u64>,
}

impl Room {
    fn write(&self, ns: u64) {
        assert_eq!((self.readers.get(), self.writers.get()), (0, 0), "a writer isn't alone");
        self.writers.set(1);
        let entered = self.entered.get();
        work_ns(ns);
        self.entered.set(entered + 1);
        self.writers.set(0);
    }

    fn read(&self, ns: u64) {
        assert_eq!(self.writers.get(), 0, "a reader meets a writer");
        self.readers.set(self.readers.get() + 1);
        work_ns(ns);
        assert_eq!(self.writers.get(), 0, "a writer meets a reader");
        self.readers.set(self.readers.get() - 1);
    }
}

static MUTEX: RawMutex = RawMutex::new();

/// Threads that take the mutex in turn, with sections of `inside` and pauses of `outside`.
fn contend(
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

#[test]
fn a_mutex_excludes() {
    for name in MACHINES {
        for threads in [2, 16, 64, 256] {
            for section in [(0, 0), (100, 1_000), (10_000, 10_000)] {
                let rounds = 3_000 / threads as u64;
                alone(|| contend(simulation(name, 1), threads, rounds, section).map(drop));
            }
        }
    }
}

#[test]
fn a_lock_that_excludes_nothing_is_noticed() {
    let room = Room::default();
    let failure = simulation("sixteen", 1)
        .run(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..1000).for_each(|_| room.write(100)));
            }
        })
        .unwrap_err();
    assert!(failure.to_string().contains("a writer isn't alone"), "{failure}");
}

#[test]
fn a_seed_repeats_a_run() {
    let run = |seed| {
        isolated(|| {
            let run = contend(simulation("opteron-8x8", seed), 64, 30, (300, 500)).unwrap();
            let mut bytes = run.trace_hash.to_le_bytes().to_vec();
            bytes.extend(run.now_ns.to_le_bytes());
            bytes
        })
        .unwrap()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_mutex_outlives_a_holder_that_is_preempted_anywhere() {
    // Each access of the second thread in turn, until it has no more.
    for access in 1..60 {
        let at = At::Thread { thread: 2, access };
        let preempt = Disturbance::Preempt { at, for_ns: 30_000_000 };
        let stop = Disturbance::Stop { at, for_ns: 1_000_000_000 };
        for disturbance in [preempt, stop] {
            let simulation = simulation("xeon-kvm-2", 1).disturb(disturbance);
            alone(|| contend(simulation, 4, 4, (500, 500)).map(drop));
        }
    }
}

#[test]
fn a_mutex_outlives_late_wakes() {
    for nth in 1..10 {
        let late = Disturbance::WakeLate { nth, by_ns: 50_000_000 };
        let simulation = simulation("xeon-kvm-2", 1).disturb(late);
        alone(|| contend(simulation, 8, 20, (10_000, 10_000)).map(drop));
    }
}

#[test]
fn a_rwlock_excludes_writers() {
    static LOCK: RawRwLock = RawRwLock::new();
    for name in MACHINES {
        for (readers, writers) in [(2, 1), (12, 4), (60, 4), (0, 16)] {
            alone(|| {
                let room = Room::default();
                let room = &room;
                simulation(name, 1).run(|scope| {
                    for index in 0..readers + writers {
                        let writes = index < writers;
                        scope.spawn(move || {
                            for _ in 0..40 {
                                if writes {
                                    LOCK.lock_exclusive();
                                    room.write(400);
                                    LOCK.unlock_exclusive();
                                } else {
                                    LOCK.lock_shared();
                                    room.read(400);
                                    LOCK.unlock_shared();
                                }
                                work_ns(600);
                            }
                        });
                    }
                })?;
                assert_eq!(room.entered.get(), 40 * writers);
                assert!(!LOCK.is_locked());
                Ok(())
            });
        }
    }
}

#[test]
fn a_condvar_wakes_all_that_wait() {
    static CONDVAR: RawCondvar = RawCondvar::new();
    for name in MACHINES {
        alone(|| {
            let round = Cell::new(0u32);
            let round = &round;
            simulation(name, 1)
                .run(|scope| {
                    for _ in 0..64 {
                        scope.spawn(move || {
                            for mine in 1..=5 {
                                MUTEX.lock();
                                while round.get() < mine {
                                    CONDVAR.wait(&MUTEX, None);
                                }
                                MUTEX.unlock();
                            }
                        });
                    }
                    for next in 1..=5 {
                        work_ns(3_000_000);
                        MUTEX.lock();
                        round.set(next);
                        CONDVAR.notify_all();
                        MUTEX.unlock();
                    }
                })
                .map(drop)
        });
    }
}

#[test]
fn a_semaphore_admits_as_many_as_it_has_permits() {
    for name in MACHINES {
        alone(|| {
            let semaphore = RawSemaphore::new(3).unwrap();
            let inside = Cell::new(0);
            let (semaphore, inside) = (&semaphore, &inside);
            let most = Cell::new(0);
            let most = &most;
            simulation(name, 1).run(|scope| {
                for _ in 0..24 {
                    scope.spawn(move || {
                        for _ in 0..30 {
                            semaphore.acquire();
                            inside.set(inside.get() + 1);
                            most.set(most.get().max(inside.get()));
                            work_ns(2_000);
                            inside.set(inside.get() - 1);
                            semaphore.release().unwrap();
                            work_ns(1_000);
                        }
                    });
                }
            })?;
            assert!(most.get() <= 3 && most.get() > 1, "{} at once", most.get());
            assert_eq!(semaphore.available(), 3);
            Ok(())
        });
    }
}

#[test]
fn a_barrier_keeps_threads_in_step() {
    const THREADS: u32 = 32;
    for name in MACHINES {
        alone(|| {
            let (barrier, arrived, leaders) = (RawBarrier::new(), Cell::new(0), Cell::new(0));
            let (barrier, arrived, leaders) = (&barrier, &arrived, &leaders);
            simulation(name, 1).run(|scope| {
                for index in 0..THREADS {
                    scope.spawn(move || {
                        for round in 1..=20 {
                            work_ns(u64::from(index) * 50);
                            arrived.set(arrived.get() + 1);
                            let leads = barrier.wait(THREADS);
                            leaders.set(leaders.get() + u32::from(leads));
                            assert!(arrived.get() >= round * THREADS, "one went ahead");
                        }
                    });
                }
            })?;
            assert_eq!(leaders.get(), 20);
            Ok(())
        });
    }
}

/// Threads wait on one word, are moved to another, and woken there.
fn wait_and_requeue<'scope>(scope: &'scope Scope<'scope, '_>, words: &'scope [AtomicU32; 2]) {
    let threads: Vec<_> =
        (0..40).map(|_| scope.spawn(|| futex::wait(&words[0], 0, None))).collect();
    work_ns(10_000_000);
    let moved = futex::requeue(&words[0], &words[1], 3, usize::MAX);
    assert_eq!((moved.woken, moved.moved), (3, 37));
    assert_eq!(futex::wake(&words[0], 1), 0);
    assert_eq!(futex::wake(&words[1], 7), 7);
    assert_eq!(futex::wake_all(&words[1]), 30);
    for thread in threads {
        assert_eq!(thread.join(), futex::Waited::Woken);
    }
}

#[test]
fn futexes_wait_wake_and_requeue() {
    for name in MACHINES {
        alone(|| {
            let words = [AtomicU32::new(0), AtomicU32::new(1)];
            simulation(name, 1).run(|scope| wait_and_requeue(scope, &words)).map(drop)
        });
    }
}

#[test]
fn deadlines_pass_in_virtual_time() {
    alone(|| {
        let word = AtomicU32::new(0);
        simulation("sixteen", 1)
            .run(|_| {
                let before = virtual_ns();
                let deadline = Deadline::after(Duration::from_secs(10));
                assert_eq!(futex::wait(&word, 0, Some(&deadline)), futex::Waited::TimedOut);
                let took = virtual_ns() - before;
                assert!((10_000_000_000..10_001_000_000).contains(&took), "{took}");
            })
            .map(drop)
    });
}

#[test]
fn a_deadlock_names_the_owners() {
    let said = isolated(|| {
        static LOCKS: [RawMutex; 2] = [RawMutex::new(), RawMutex::new()];
        let failure = simulation("sixteen", 7)
            .run(|scope| {
                for mine in 0..2 {
                    scope.spawn(move || {
                        LOCKS[mine].lock();
                        work_ns(1_000_000);
                        LOCKS[1 - mine].lock();
                    });
                }
            })
            .unwrap_err();
        failure.to_string().into()
    });
    let said = String::from_utf8(said.unwrap()).unwrap();
    for part in ["deadlock", "seed 0x7", "a circle: ", "names thread"] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
}
