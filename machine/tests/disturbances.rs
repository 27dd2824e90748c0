//! What disturbs threads: disturbances that were asked for, and the load of other programs.

use machine::atomic::{AtomicU32, AtomicU64, Ordering};
use machine::{
    At, Disturbance, Machine, ProcessorSet, Simulation, kernel_wait, kernel_wake, virtual_ns,
    work_ns,
};

const MS: u64 = 1_000_000;

fn sixteen() -> Machine {
    Machine::named("sixteen").unwrap_or_else(|bad| panic!("{bad}"))
}

fn one(processor: usize) -> ProcessorSet {
    std::iter::once(processor).collect()
}

/// Two threads, each on a processor of its own or both on one, that add to words of their own.
/// Returns what each had done, and when, before and after each of its accesses.
fn adders(disturbance: Disturbance, processors: [usize; 2]) -> [Vec<(u64, u64)>; 2] {
    let words = [const { AtomicU64::new(0) }; 2];
    let run = Simulation::new(&sixteen(), 1).disturb(disturbance).run(|scope| {
        let threads = processors.map(|at| {
            let word = &words[at % 2];
            scope.thread().on(one(at)).spawn(move || {
                (0..20)
                    .map(|_| {
                        work_ns(1000);
                        let before = virtual_ns();
                        word.fetch_add(1, Ordering::Relaxed);
                        (before, virtual_ns())
                    })
                    .collect()
            })
        });
        threads.map(|thread| thread.join())
    });
    run.unwrap_or_else(|failure| panic!("{failure}")).value
}

/// The accesses that took longer than a millisecond, from 1.
fn late(steps: &[(u64, u64)]) -> Vec<usize> {
    let is_late = |&at: &usize| steps[at - 1].1 - steps[at - 1].0 > MS;
    (1..=steps.len()).filter(is_late).collect()
}

#[test]
fn a_thread_is_preempted_at_the_access_that_was_named() {
    for access in [1, 7, 20] {
        let at = At::Thread { thread: 1, access };
        let [first, second] = adders(Disturbance::Preempt { at, for_ns: 30 * MS }, [3, 4]);
        assert_eq!(late(&first), [access as usize]);
        assert!(late(&second).is_empty());
        let (before, after) = first[access as usize - 1];
        assert!((30 * MS..31 * MS).contains(&(after - before)), "{before} {after}");
    }
}

#[test]
fn others_run_where_a_thread_was_preempted() {
    let at = At::Thread { thread: 1, access: 2 };
    let [first, second] = adders(Disturbance::Preempt { at, for_ns: 30 * MS }, [3, 3]);
    assert_eq!(late(&first), [2]);
    assert!(second.last().unwrap().1 < first[1].1, "the other is done before");
}

#[test]
fn nothing_runs_on_a_processor_that_stops() {
    let at = At::Processor { processor: 3, access: 2 };
    let [first, second] = adders(Disturbance::Stop { at, for_ns: 1000 * MS }, [3, 3]);
    let steps: Vec<_> = first.iter().chain(&second).collect();
    let stopped = first[1].0.min(second[1].0) + MS;
    let runs = |&&&(before, after): &&&(u64, u64)| {
        [before, after].iter().any(|time| (stopped..stopped + 990 * MS).contains(time))
    };
    assert_eq!(steps.iter().filter(runs).count(), 0, "{steps:?}");
    assert!(second.last().unwrap().1 > 1000 * MS);
}

#[test]
fn a_wake_comes_late() {
    for nth in 1..4 {
        let word = AtomicU32::new(0);
        let late = Disturbance::WakeLate { nth, by_ns: 20 * MS };
        let run = Simulation::new(&sixteen(), 1).disturb(late).run(|scope| {
            let sleeper = scope.spawn(|| {
                (0..3)
                    .map(|_| {
                        kernel_wait(&word, 0, None);
                        virtual_ns()
                    })
                    .collect::<Vec<_>>()
            });
            let calls: Vec<_> = (0..3)
                .map(|_| {
                    work_ns(50 * MS);
                    assert_eq!(kernel_wake(&word, 1), 1);
                    virtual_ns()
                })
                .collect();
            let woken = sleeper.join();
            woken.iter().zip(&calls).map(|(woken, call)| woken - call.min(woken)).collect()
        });
        let took: Vec<u64> = run.unwrap_or_else(|failure| panic!("{failure}")).value;
        for (index, took) in took.into_iter().enumerate() {
            let is_late = index as u64 + 1 == nth;
            assert_eq!(took > 19 * MS, is_late, "wake {index} took {took} ns");
        }
    }
}

#[test]
fn load_takes_its_part_of_the_processors() {
    let text = |load: &str| {
        let file = include_str!("../machines/sixteen.toml");
        Machine::parse("loaded", &format!("{file}{load}")).unwrap_or_else(|bad| panic!("{bad}"))
    };
    let took = |machine: &Machine| {
        let run = Simulation::new(machine, 1).run(|scope| {
            for _ in 0..16 {
                scope.spawn(|| work_ns(100 * MS));
            }
        });
        let run = run.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(run.threads.len(), 17, "the load isn't among the threads");
        run.now_ns
    };
    let alone = took(&text(""));
    let loaded = took(&text("\n[load]\nthreads = 16\nruns = 5_000_000\nsleeps = 5_000_000\n"));
    assert!(alone < 102 * MS, "{alone}");
    assert!((120 * MS..220 * MS).contains(&loaded), "{loaded}");
}

#[test]
fn a_store_does_not_keep_its_thread_from_working() {
    #[repr(align(64))]
    struct Line(AtomicU32);
    let word = Line(AtomicU32::new(0));
    let mut machine = sixteen();
    machine.costs.jitter = 0.0;
    let took = |fenced: bool| {
        let run = Simulation::new(&machine, 1).run(|scope| {
            let reader = scope.thread().on(one(9)).spawn(|| word.0.load(Ordering::Relaxed));
            reader.join();
            let writer = scope.thread().on(one(0)).spawn(|| {
                word.0.fetch_add(1, Ordering::Relaxed);
                work_ns(10_000);
                let reader = scope.thread().on(one(9)).spawn(|| word.0.load(Ordering::Relaxed));
                reader.join();
                let before = virtual_ns();
                word.0.store(2, Ordering::Release);
                if fenced {
                    machine::atomic::fence(Ordering::SeqCst);
                }
                work_ns(1_000);
                virtual_ns() - before
            });
            writer.join()
        });
        run.unwrap_or_else(|failure| panic!("{failure}")).value
    };
    let store = machine.costs.store / 1000;
    let upgrade = machine.costs.upgrade[machine::Distance::Socket as usize] / 1000;
    assert_eq!(took(false), store + 1_000);
    assert!(took(true) >= upgrade + 1_000);
}

#[test]
fn a_thread_that_is_not_to_be_preempted_is_not() {
    let preemptions = |keeps_on: bool| {
        let run = Simulation::new(&sixteen(), 1).on(one(0)).run(|scope| {
            let work = || (0..100).for_each(|_| work_ns(MS));
            for _ in 0..2 {
                scope.spawn(move || if keeps_on { machine::no_preemption(work) } else { work() });
            }
        });
        run.unwrap_or_else(|failure| panic!("{failure}")).total.preemptions
    };
    assert_eq!(preemptions(true), 0);
    assert!(preemptions(false) > 30);
}

/// The times at which a thread that works in steps of 10 us had done so much later than it should,
/// and how late.
fn gaps(interruptions: &str, processor: usize) -> Vec<(u64, u64)> {
    let file = include_str!("../machines/sixteen.toml");
    let machine = Machine::parse("interrupted", &format!("{file}{interruptions}"));
    let machine = machine.unwrap_or_else(|bad| panic!("{bad}"));
    let run = Simulation::new(&machine, 1).run(|scope| {
        let worker = scope.thread().on(one(processor)).spawn(|| {
            let mut last = virtual_ns();
            let mut gaps = Vec::new();
            for _ in 0..10_000 {
                work_ns(10_000);
                let now = virtual_ns();
                if now - last > 11_000 {
                    gaps.push((now, now - last - 10_000));
                }
                last = now;
            }
            gaps
        });
        worker.join()
    });
    run.unwrap_or_else(|failure| panic!("{failure}")).value
}

#[test]
fn interruptions_come_again_and_again_and_take_their_time() {
    let tick = "\n[[interruption]]\nevery = 4_000_000\ntakes = 32_000\njitter = 0.25\n";
    assert!(gaps("", 3).is_empty());
    let found = gaps(tick, 3);
    assert!((24..=26).contains(&found.len()), "{found:?}");
    assert!(found.iter().all(|&(_, late)| (24_000..=40_000).contains(&late)), "{found:?}");
    let apart = |pair: &[(u64, u64)]| pair[1].0 - pair[0].0;
    assert!(found.windows(2).map(apart).all(|ns| ns.abs_diff(4 * MS) < 50_000), "{found:?}");
    let host = "\n[[interruption]]\nevery = 10_000_000\ntakes = 3_000_000\n";
    let both = gaps(&format!("{tick}{host}"), 3);
    assert!(both.iter().filter(|&&(_, late)| late > 2_900_000).count() >= 9, "{both:?}");
}

/// As ticks do, and as two threads that fell into step see them.
#[test]
fn interruptions_come_to_all_processors_at_one_time() {
    let tick = "\n[[interruption]]\nevery = 4_000_000\ntakes = 32_000\n";
    let (one, other) = (gaps(tick, 3), gaps(tick, 12));
    assert_eq!(one.len(), other.len());
    assert!(one.iter().zip(&other).all(|(a, b)| a.0.abs_diff(b.0) < 100_000), "{one:?} {other:?}");
}

#[test]
fn a_yield_costs_what_the_machine_says_and_a_call_otherwise() {
    let file = include_str!("../machines/sixteen.toml");
    let took = |text: &str| {
        let machine = Machine::parse("yielding", text).unwrap_or_else(|bad| panic!("{bad}"));
        let run = Simulation::new(&machine, 1).run(|_| {
            let before = virtual_ns();
            (0..100).for_each(|_| machine::yield_now());
            (virtual_ns() - before) / 100
        });
        (run.unwrap_or_else(|failure| panic!("{failure}")).value, machine.costs.call / 1000)
    };
    let (plain, call) = took(file);
    assert_eq!(plain, call);
    let (dear, _) = took(&file.replacen("[kernel]", "[kernel]\nyields = 437", 1));
    assert_eq!(dear, 437);
}

/// Whether a thread that is woken while its last processor is busy runs on another.
fn goes_elsewhere(file: &str) -> bool {
    let machine = Machine::parse("searching", file).unwrap_or_else(|bad| panic!("{bad}"));
    let (word, place) = (AtomicU32::new(0), AtomicU32::new(u32::MAX));
    let run = Simulation::new(&machine, 1).run(|scope| {
        let sleeper = scope.spawn(|| {
            place.store(machine::current_cpu(), Ordering::Relaxed);
            kernel_wait(&word, 0, None);
            machine::current_cpu()
        });
        work_ns(5 * MS);
        let last = place.load(Ordering::Relaxed);
        let other = scope.thread().on(one(last as usize)).spawn(|| work_ns(20 * MS));
        work_ns(5 * MS);
        assert_eq!(kernel_wake(&word, 1), 1);
        other.join();
        sleeper.join() != last
    });
    run.unwrap_or_else(|failure| panic!("{failure}")).value
}

#[test]
fn a_wake_looks_for_an_idle_processor_unless_the_others_are_too_busy() {
    let file = include_str!("../machines/sixteen.toml").replacen("balance = ", "balance = 900_", 1);
    assert!(goes_elsewhere(&file));
    let busy = file.replacen("[kernel]", "[kernel]\nsearches_below = 0.001", 1);
    assert!(!goes_elsewhere(&busy));
    let idle = file.replacen("[kernel]", "[kernel]\nsearches_below = 0.9", 1);
    assert!(goes_elsewhere(&idle));
}
