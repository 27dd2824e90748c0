//! Threads, time, sleeps and the scheduler on simulated machines.

use machine::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use machine::{
    Distance, Failure, Machine, ProcessorSet, Scope, Simulation, Sleep, current_cpu, hint,
    kernel_wait, kernel_wake, nap_ns, now_ns, processors, stop, thread_exists, thread_id,
    virtual_ns, work_ns, yield_now,
};

fn machine(name: &str) -> Machine {
    Machine::named(name).unwrap_or_else(|bad| panic!("{bad}"))
}

fn one(processor: usize) -> ProcessorSet {
    std::iter::once(processor).collect()
}

/// A word as wide as its line, so that words don't share lines.
#[repr(align(64))]
#[derive(Default)]
struct Word(AtomicU32);

/// Drepper's second mutex.
#[derive(Default)]
struct FutexMutex(Word);

impl FutexMutex {
    fn lock(&self) {
        let word = &self.0.0;
        if word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        while word.swap(2, Ordering::Acquire) != 0 {
            kernel_wait(word, 2, None);
        }
    }

    fn unlock(&self) {
        if self.0.0.swap(0, Ordering::Release) == 2 {
            kernel_wake(&self.0.0, 1);
        }
    }
}

#[test]
fn outside_of_a_simulation_everything_is_real() {
    let word = AtomicU32::new(3);
    assert_eq!(kernel_wait(&word, 4, None), Sleep::Ended);
    assert_eq!(kernel_wait(&word, 3, Some(now_ns() + 1000)), Sleep::TimedOut);
    assert_eq!(kernel_wake(&word, 1), 0);
    assert!(thread_exists(thread_id()) && !thread_exists(1 << 29));
    assert!(processors() >= 1);
    let before = now_ns();
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while word.load(Ordering::Acquire) == 3 {
                kernel_wait(&word, 3, None);
            }
        });
        nap_ns(1_000_000);
        word.store(5, Ordering::Release);
        while !sleeper.is_finished() {
            kernel_wake(&word, 1);
            yield_now();
        }
    });
    assert!(now_ns() - before >= 1_000_000);
}

#[test]
fn work_takes_virtual_time_only() {
    let run = Simulation::new(&machine("sixteen"), 1)
        .run(|_| {
            let before = virtual_ns();
            work_ns(50_000_000_000);
            virtual_ns() - before
        })
        .unwrap();
    assert_eq!(run.value, 50_000_000_000);
    assert_eq!(run.total.worked_ns, 50_000_000_000);
}

#[test]
fn threads_on_processors_of_their_own_work_at_the_same_time() {
    let machine = machine("epyc-2x64");
    let run = Simulation::new(&machine, 1)
        .run(|scope| {
            for _ in 0..127 {
                scope.spawn(|| work_ns(1_000_000_000));
            }
        })
        .unwrap();
    let spawns = 127 * machine.costs.spawn / 1000;
    assert!(run.now_ns < 1_000_000_000 + spawns + 1_000_000, "{}", run.now_ns);
    assert_eq!(run.total.preemptions, 0);
    assert_eq!(run.threads.len(), 128);
}

#[test]
fn threads_that_share_a_processor_take_turns() {
    let run = Simulation::new(&machine("sixteen"), 1)
        .on(one(3))
        .run(|scope| {
            assert_eq!(processors(), 1);
            let work = || {
                work_ns(100_000_000);
                assert_eq!(current_cpu(), 3);
                virtual_ns()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        })
        .unwrap();
    let (first, last) = (run.value.iter().min().unwrap(), run.value.iter().max().unwrap());
    assert!(*last > 400_000_000 && *last < 410_000_000, "{last}");
    assert!(last - first < 15_000_000, "all are done at about the same time: {first}, {last}");
    assert!(run.total.preemptions > 100, "{}", run.total.preemptions);
}

/// Until all threads have been spawned.
fn begin_together() {
    work_ns(10_000_000u64.saturating_sub(virtual_ns()));
}

#[test]
fn increments_are_not_lost_and_plain_ones_are() {
    let (atomic, plain) = (AtomicU64::new(0), AtomicU64::new(0));
    Simulation::new(&machine("opteron-8x8"), 7)
        .run(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    begin_together();
                    for _ in 0..200 {
                        atomic.fetch_add(1, Ordering::Relaxed);
                        plain.store(plain.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    }
                });
            }
        })
        .unwrap();
    assert_eq!(atomic.into_inner(), 64 * 200);
    assert!(plain.into_inner() < 64 * 200);
}

/// What a store of `from`'s processor and then a load of `to`'s costs the latter.
fn transfer_ns(machine: &Machine, from: usize, to: usize) -> f64 {
    let word = Word::default();
    let went = AtomicBool::new(false);
    let run = Simulation::new(machine, 1).run(|scope| {
        let writer = scope.thread().on(one(from)).spawn(|| word.0.store(1, Ordering::Relaxed));
        writer.join();
        let reader = scope.thread().on(one(to)).spawn(|| {
            let before = virtual_ns();
            word.0.load(Ordering::Relaxed);
            went.store(true, Ordering::Relaxed);
            virtual_ns() - before
        });
        reader.join()
    });
    run.unwrap().value as f64
}

#[test]
fn a_line_costs_what_its_way_costs() {
    for name in machine::NAMES {
        let machine = machine(name);
        let mut seen = 0;
        for to in 1..machine.processors() {
            let distance = machine.topology.distance(0, to);
            let expected = machine.costs.read[distance as usize] as f64 / 1000.0;
            if seen & 1 << distance as u32 != 0 {
                continue;
            }
            seen |= 1 << distance as u32;
            // The store of `went` from memory comes after it.
            let rest = machine.costs.memory as f64 / 1000.0;
            let took = transfer_ns(&machine, 0, to) - rest;
            let most = (expected + rest) * machine.costs.jitter + 2.0;
            assert!((took - expected).abs() <= most, "{name}: {distance:?} {took} {expected}");
        }
        // Where each socket is one core, the next is in another.
        let nearest = (1..machine.processors())
            .map(|other| machine.topology.distance(0, other))
            .find(|&distance| distance != Distance::Core)
            .unwrap_or(Distance::Cluster);
        assert!(seen & 1 << nearest as u32 != 0 || machine.processors() == 1);
    }
}

#[test]
fn transfers_of_one_line_queue_up() {
    let machine = machine("opteron-8x8");
    let word = Word::default();
    let run = Simulation::new(&machine, 1)
        .run(|scope| {
            for at in 0..64 {
                scope.thread().on(one(at)).spawn(|| {
                    begin_together();
                    (0..300).for_each(|_| _ = word.0.fetch_add(1, Ordering::Relaxed));
                });
            }
        })
        .unwrap();
    let least = |distance| machine.costs.write[distance as usize] as f64 / 1000.0 * 0.9;
    let moved: f64 = Distance::BETWEEN_CORES
        .map(|distance| run.total.transfers_at(distance) as f64 * least(distance))
        .iter()
        .sum();
    let took = (run.now_ns - 10_000_000) as f64;
    assert!(run.total.transfers() > 300, "{}", run.total.transfers());
    assert!(took >= moved, "{took} ns for what takes {moved} ns one after another");
}

#[test]
fn a_sleeper_is_woken_and_wakes_cost_both() {
    let machine = machine("epyc-kvm-2");
    let word = Word::default();
    let run = Simulation::new(&machine, 3)
        .run(|scope| {
            let sleeper = scope.thread().on(one(1)).spawn(|| {
                assert_eq!(kernel_wait(&word.0, 0, None), Sleep::Ended);
                virtual_ns()
            });
            work_ns(5_000_000);
            word.0.store(1, Ordering::Release);
            let before = virtual_ns();
            assert_eq!(kernel_wake(&word.0, 1), 1);
            let paid = virtual_ns() - before;
            (paid, sleeper.join() - before)
        })
        .unwrap();
    let (paid, later) = run.value;
    assert!((5_000..9_000).contains(&paid), "the waker paid {paid} ns");
    assert!((15_000..27_000).contains(&later), "the sleeper ran after {later} ns");
    assert_eq!((run.total.woken, run.total.wake_calls), (1, 1));
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let machine = machine("sixteen");
    let word = AtomicU32::new(0);
    let run = Simulation::new(&machine, 3)
        .run(|_| {
            let deadline = virtual_ns() + 10_000_000;
            assert_eq!(kernel_wait(&word, 0, Some(deadline)), Sleep::TimedOut);
            let late = virtual_ns() - deadline;
            assert_eq!(kernel_wait(&word, 1, Some(deadline)), Sleep::Ended);
            assert_eq!(kernel_wait(&word, 0, Some(deadline)), Sleep::TimedOut);
            late
        })
        .unwrap();
    assert!((40_000..200_000).contains(&run.value), "{} ns late", run.value);
}

#[test]
fn a_wake_that_comes_first_takes_the_deadline_along() {
    let word = AtomicU32::new(0);
    Simulation::new(&machine("sixteen"), 3)
        .run(|scope| {
            let sleeper = scope.spawn(|| {
                let deadline = virtual_ns() + 1_000_000;
                assert_eq!(kernel_wait(&word, 0, Some(deadline)), Sleep::Ended);
                // The first sleep's deadline passes in this one.
                assert_eq!(kernel_wait(&word, 0, None), Sleep::Ended);
                virtual_ns()
            });
            work_ns(500_000);
            assert_eq!(kernel_wake(&word, 1), 1);
            work_ns(3_000_000);
            let before = virtual_ns();
            assert_eq!(kernel_wake(&word, 1), 1);
            assert!(sleeper.join() > before);
        })
        .unwrap();
}

#[test]
fn sleepers_are_woken_in_their_order() {
    let word = AtomicU32::new(0);
    let order = std::cell::RefCell::new(Vec::new());
    Simulation::new(&machine("sixteen"), 5)
        .run(|scope| {
            let (word, order) = (&word, &order);
            for index in 0..6 {
                scope.spawn(move || {
                    work_ns(index * 100_000);
                    kernel_wait(word, 0, None);
                    order.borrow_mut().push(index);
                });
            }
            work_ns(2_000_000);
            for _ in 0..4 {
                assert_eq!(kernel_wake(word, 1), 1);
                work_ns(100_000);
            }
            assert_eq!(kernel_wake(word, usize::MAX), 2);
            assert_eq!(kernel_wake(word, usize::MAX), 0);
        })
        .unwrap();
    let mut order = order.into_inner();
    assert_eq!(order[..4], [0, 1, 2, 3]);
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_wake_is_for_those_that_sleep_when_it_is_called() {
    let (word, went) = (AtomicU32::new(0), AtomicU32::new(0));
    Simulation::new(&machine("xeon-kvm-2"), 5)
        .run(|scope| {
            let (word, went) = (&word, &went);
            for _ in 0..30 {
                scope.spawn(move || {
                    for _ in 0..2 {
                        kernel_wait(word, 0, None);
                        went.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            work_ns(50_000_000);
            assert_eq!(kernel_wake(word, usize::MAX), 30);
            work_ns(50_000_000);
            assert_eq!(went.load(Ordering::Relaxed), 30);
            assert_eq!(kernel_wake(word, usize::MAX), 30);
        })
        .unwrap();
}

/// Threads that take a mutex in turn.
fn contend<'scope>(
    scope: &'scope Scope<'scope, '_>,
    mutex: &'scope FutexMutex,
    inside: &'scope AtomicU32,
    threads: usize,
) {
    for _ in 0..threads {
        scope.spawn(move || {
            for _ in 0..50 {
                mutex.lock();
                assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "two threads inside");
                work_ns(300);
                inside.fetch_sub(1, Ordering::Relaxed);
                mutex.unlock();
                work_ns(500);
            }
        });
    }
}

fn contended(name: &str, threads: usize, seed: u64) -> (u64, u64) {
    let (mutex, inside) = (FutexMutex::default(), AtomicU32::new(0));
    let run = Simulation::new(&machine(name), seed)
        .run(|scope| contend(scope, &mutex, &inside, threads))
        .unwrap_or_else(|failure| panic!("{failure}"));
    (run.now_ns, run.trace_hash)
}

#[test]
fn a_futex_mutex_excludes_on_every_machine() {
    for name in machine::NAMES {
        for threads in [2, 16, 128] {
            contended(name, threads, 1);
        }
    }
}

#[test]
fn a_seed_gives_one_trace_and_another_another() {
    for name in ["xeon-kvm-2", "opteron-8x8"] {
        assert_eq!(contended(name, 16, 1), contended(name, 16, 1));
        assert_ne!(contended(name, 16, 1).1, contended(name, 16, 2).1);
    }
}

#[test]
fn a_sleep_that_nothing_ends_is_a_deadlock() {
    let word = AtomicU32::new(5);
    let failure = Simulation::new(&machine("sixteen"), 0xabc)
        .trace(3)
        .run(|scope| {
            scope.thread().named("sleeper").spawn(|| kernel_wait(&word, 5, None));
        })
        .unwrap_err();
    let said = failure.to_string();
    let address = format!("word {:#x}, expected 0x5, which holds 0x5", word.as_ptr().addr());
    for part in ["deadlock", "seed 0xabc", "sixteen", "(sleeper) sleeps on", &address, "sleeps\n"] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
}

#[test]
fn a_circle_of_owners_is_named() {
    let locks = [Word::default(), Word::default()];
    let failure = Simulation::new(&machine("sixteen"), 1)
        .run(|scope| {
            for mine in 0..2 {
                let locks = &locks;
                scope.spawn(move || {
                    let lock = |word: &AtomicU32| loop {
                        let (free, me) = (0, thread_id());
                        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
                        match word.compare_exchange(free, me, success, failure) {
                            Ok(_) => break,
                            Err(owner) => _ = kernel_wait(word, owner, None),
                        }
                    };
                    lock(&locks[mine].0);
                    work_ns(100_000);
                    lock(&locks[1 - mine].0);
                });
            }
        })
        .unwrap_err();
    let Failure::Deadlock(report) = &failure else { panic!("{failure}") };
    assert_eq!(report.circle.len(), 3, "{failure}");
    assert_eq!(report.circle.first(), report.circle.last());
    assert!(failure.to_string().contains(" waits for "), "{failure}");
}

#[test]
fn a_spin_that_nothing_ends_is_a_livelock() {
    let word = AtomicU32::new(0);
    let failure = Simulation::new(&machine("sixteen"), 1)
        .limit_ns(1_000_000)
        .run(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Relaxed) == 0 {
                    hint::spin_loop();
                }
            });
        })
        .unwrap_err();
    assert!(matches!(failure, Failure::Livelock(_)), "{failure}");
    assert!(failure.to_string().contains("runs on processor"), "{failure}");
}

#[test]
fn a_panic_ends_the_simulation_and_the_next_is_whole() {
    for _ in 0..3 {
        let word = AtomicU32::new(0);
        let failure = Simulation::new(&machine("sixteen"), 1)
            .run(|scope| {
                scope.spawn(|| kernel_wait(&word, 0, None));
                scope.spawn(|| {
                    work_ns(100_000);
                    panic!("as asked for");
                });
            })
            .unwrap_err();
        assert!(failure.to_string().contains("panicked: as asked for"), "{failure}");
        contended("sixteen", 4, 1);
    }
}

#[test]
fn yields_let_others_run() {
    let word = AtomicU32::new(0);
    let run = Simulation::new(&machine("sixteen"), 1)
        .on(one(0))
        .run(|scope| {
            scope.spawn(|| word.store(1, Ordering::Relaxed));
            while word.load(Ordering::Relaxed) == 0 {
                yield_now();
            }
            virtual_ns()
        })
        .unwrap();
    assert!(run.value < 100_000, "{}", run.value);
}

#[test]
fn idle_processors_take_threads_from_queues() {
    // Two threads on each processor. Those of eight processors are short: the others spread.
    let run = Simulation::new(&machine("sixteen"), 1)
        .run(|scope| {
            for index in 0..32 {
                let work = if index % 16 < 8 { 10_000_000 } else { 100_000_000 };
                scope.spawn(move || work_ns(work));
            }
        })
        .unwrap();
    assert!(run.now_ns < 140_000_000, "{}", run.now_ns);
    assert!(run.total.migrations > 0);
}

machine::thread_local! {
    static OWN: std::cell::RefCell<Vec<u32>> = std::cell::RefCell::default();
    static DROPS: OnDrop = OnDrop(AtomicU32::new(0));
}

struct OnDrop(AtomicU32);

static DROPPED: AtomicU32 = AtomicU32::new(0);

impl Drop for OnDrop {
    fn drop(&mut self) {
        // In simulated time, by its own thread.
        DROPPED.fetch_add(*self.0.get_mut(), Ordering::Relaxed);
    }
}

#[test]
fn thread_locals_are_each_threads_own() {
    Simulation::new(&machine("sixteen"), 1)
        .run(|scope| {
            for index in 1..9 {
                scope.spawn(move || {
                    DROPS.with(|drops| drops.0.store(index, Ordering::Relaxed));
                    for _ in 0..10 {
                        OWN.with(|own| own.borrow_mut().push(index));
                        work_ns(1000);
                    }
                    OWN.with(|own| assert_eq!(*own.borrow(), [index; 10]));
                });
            }
        })
        .unwrap();
    assert_eq!(DROPPED.load(Ordering::Relaxed), (1..9).sum());
    OWN.with(|own| assert!(own.borrow().is_empty(), "the host thread has its own"));
}

#[test]
fn a_simulation_may_end_with_its_main_thread() {
    let word = AtomicU32::new(0);
    let run = |ends| {
        let simulation = Simulation::new(&machine("sixteen"), 1).limit_ns(100_000_000);
        let simulation = if ends { simulation.ends_with_main() } else { simulation };
        simulation.run(|scope| {
            scope.spawn(|| kernel_wait(&word, 0, None));
            scope.spawn(|| {
                while word.load(Ordering::Relaxed) == 0 {
                    hint::spin_loop();
                }
            });
            work_ns(1_000_000);
            7
        })
    };
    let (finished, again) = (run(true).unwrap(), run(true).unwrap());
    assert_eq!((finished.value, finished.trace_hash), (7, again.trace_hash));
    assert!(finished.now_ns < 2_000_000 && finished.total.pauses > 1_000);
    assert!(matches!(run(false), Err(Failure::Livelock(_))));
}

/// Threads that never end, of which the last stops the simulation at a time, if there is one.
fn spinners(stops_at_ns: Option<u64>, simulation: Simulation) -> machine::Finished<Option<()>> {
    let words: Vec<Word> = (0..8).map(|_| Word::default()).collect();
    let run = simulation.limit_ns(100_000_000).run_until_ended(|scope| {
        for word in &words {
            scope.spawn(|| {
                while stops_at_ns.is_none_or(|end| virtual_ns() < end) {
                    word.0.fetch_add(1, Ordering::Relaxed);
                    hint::spin_loop();
                }
                stop()
            });
        }
        if stops_at_ns.is_none() {
            kernel_wait(&words[0].0, u32::MAX, None);
            nap_ns(u32::MAX.into());
        }
    });
    run.unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn a_thread_may_end_the_simulation() {
    let simulation = || Simulation::new(&machine("sixteen"), 1);
    let run = spinners(Some(1_000_000), simulation());
    assert!((1_000_000..1_100_000).contains(&run.now_ns), "{}", run.now_ns);
    assert_eq!((run.value, run.threads.len()), (Some(()), 9));
    assert!(run.total.accesses > 1_000);
    assert_eq!(run.trace_hash, spinners(Some(1_000_000), simulation()).trace_hash);
    assert_ne!(run.trace_hash, spinners(Some(1_010_000), simulation()).trace_hash);
}

#[test]
fn a_deadline_ends_a_simulation_well() {
    let simulation = || Simulation::new(&machine("sixteen"), 1).ends_at_ns(2_000_000);
    let run = spinners(None, simulation());
    assert_eq!((run.now_ns, run.value), (2_000_000, None));
    assert_eq!(run.trace_hash, spinners(None, simulation()).trace_hash);
    let ended = simulation().run(|_| work_ns(1_000_000)).unwrap();
    assert!(ended.now_ns < 2_000_000, "what ends before has its own time: {}", ended.now_ns);
    // The limit is still one.
    let livelock = simulation().limit_ns(1_000_000).run(|_| {
        loop {
            work_ns(1);
        }
    });
    assert!(matches!(livelock, Err(Failure::Livelock(_))));
}

/// What happens to threads that spin by `spin`, beside others that work and write.
fn spun(
    name: &str,
    seed: u64,
    (threads, turns): (u32, u32),
    spin: fn(&AtomicU32, u32),
) -> (u64, Vec<machine::Statistics>, machine::Statistics, u64) {
    let (turn, other) = (Word::default(), Word::default());
    let (turn, other) = (&turn.0, &other.0);
    let mut seen = machine::Statistics::default();
    let run = Simulation::new(&machine(name), seed).run(|scope| {
        let spinners = (0..threads).map(|index| {
            scope.spawn(move || {
                // One after another, as with a ticket lock, and more slowly than they are spawned.
                for number in 0..turns {
                    spin(turn, number * threads + index);
                    work_ns(30_000 + u64::from(index % 3) * 5_000);
                    other.fetch_add(1, Ordering::Relaxed);
                    turn.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let spinners: Vec<_> = spinners.collect();
        nap_ns(50_000);
        seen = machine::statistics();
        spinners.into_iter().for_each(machine::JoinHandle::join);
    });
    let run = run.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(other.load(Ordering::Relaxed), threads * turns);
    let each = run.threads.iter().map(|thread| thread.statistics).collect();
    (run.now_ns, each, seen, run.trace_hash)
}

#[test]
fn threads_that_spin_are_skipped_ahead_without_a_difference() {
    let looks = |word: &AtomicU32, until: u32| {
        while word.load(Ordering::Acquire) != until {
            hint::spin_loop();
        }
    };
    let skips = |word: &AtomicU32, until: u32| {
        word.spin_until(Ordering::Acquire, |value| value == until);
    };
    // Alone on their processors, beside threads of their cores, in clusters, with preemptions, and
    // for long enough to be interrupted on the machines that are virtual ones.
    let cases = [
        ("sixteen", 12, 1),
        ("sixteen", 24, 1),
        ("bueso-8x10", 70, 1),
        ("opteron-8x8", 64, 1),
        ("nodes-8x16", 90, 1),
        ("epyc-2x64", 90, 1),
        ("molnar-4", 4, 10),
        ("xeon-kvm-2", 2, 200),
        ("xeon-kvm-2", 3, 4),
        ("epyc-kvm-2", 2, 200),
        ("epyc-kvm-2", 3, 4),
    ];
    for (name, threads, turns) in cases {
        for seed in 1..3 {
            let case = format!("{name} with {threads} threads, seed {seed}");
            let count = (threads, turns);
            let (one, other) = (spun(name, seed, count, looks), spun(name, seed, count, skips));
            let spinning = one.1.iter().filter(|counts| counts.pauses > 200).count();
            assert!(spinning * 2 > threads as usize, "{case}: {spinning} have spun");
            assert_ne!(one.3, other.3, "{case}: none was skipped ahead");
            assert!(one.2.pauses > 200, "{case}: nothing spins when the counts are read");
            assert_eq!(one.0, other.0, "{case}: the time");
            assert_eq!(one.1, other.1, "{case}: each thread's counts");
            assert_eq!(one.2, other.2, "{case}: the counts so far");
        }
    }
}

#[test]
fn spinning_for_nothing_is_still_a_livelock() {
    let word = AtomicU32::new(0);
    let run = Simulation::new(&machine("sixteen"), 1).limit_ns(50_000_000_000).run(|scope| {
        for _ in 0..32 {
            scope.spawn(|| word.spin_until(Ordering::Relaxed, |value| value != 0));
        }
    });
    assert!(matches!(run, Err(Failure::Livelock(_))));
}
