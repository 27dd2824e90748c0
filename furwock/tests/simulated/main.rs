//! The locks on simulated machines: they exclude, lose no wakeup, and a seed repeats a run.
//!
//! `RUSTFLAGS="--cfg simulated" cargo test --release -p furwock --test simulated`, and with `--cfg
//! mutants` besides to see that the scenarios find what they should.

#![cfg(simulated)]

mod constants;
#[cfg(mutants)]
mod mutants;
mod scenarios;
mod stopped;

use furwock::lock::RawMutex;
use furwock::{Deadline, futex};
use machine::atomic::AtomicU32;
use machine::{At, Disturbance, Failure, Machine, Simulation, isolated, virtual_ns, work_ns};
use scenarios::{ALL, Room, come_and_go, contend, rwlock};
use std::time::Duration;

const MACHINES: [&str; 4] = ["xeon-kvm-2", "sixteen", "opteron-8x8", "epyc-2x64"];

fn simulation(name: &str, seed: u64) -> Simulation {
    let machine = Machine::named(name).unwrap_or_else(|bad| panic!("{bad}"));
    Simulation::new(&machine, seed).limit_ns(20_000_000_000)
}

/// Runs in a process of its own, since furwock's tables live as long as their process.
#[track_caller]
fn alone(job: impl FnOnce() -> Result<(), Failure>) {
    let result = isolated(|| job().err().map_or(Vec::new(), |failure| failure.to_string().into()));
    let said = result.unwrap_or_else(|crash| panic!("{crash}"));
    assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn every_scenario_holds_on_every_machine() {
    for name in machine::NAMES {
        for seed in 0..3 {
            for (_, scenario) in ALL {
                alone(|| scenario(simulation(name, seed)).map(drop));
            }
        }
    }
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
fn a_rwlock_excludes_writers() {
    for name in MACHINES {
        for (readers, writers) in [(2, 1), (12, 4), (60, 4), (0, 16)] {
            alone(|| rwlock(simulation(name, 1), readers, writers).map(drop));
        }
    }
}

/// They would otherwise do little but move its line.
#[test]
fn threads_that_only_come_and_go_leave_a_rwlock_to_one_of_them() {
    for name in ["epyc-kvm-2", "xeon-kvm-2", "sixteen"] {
        alone(|| {
            let finished = come_and_go(simulation(name, 1), 2, 4_000)?;
            let transfers = finished.total.transfers();
            assert!(transfers < 8_000 / 4, "{name}: {transfers} transfers in 8,000 operations");
            Ok(())
        });
    }
}

/// Others would stand aside, each on its processor, and come back all the time.
#[test]
fn of_many_threads_that_only_come_and_go_most_leave_a_rwlock_to_others() {
    for name in ["bueso-8x10", "epyc-2x64"] {
        alone(|| {
            let finished = come_and_go(simulation(name, 1), 64, 10_000)?;
            let transfers = finished.total.transfers();
            assert!(transfers < 640_000, "{name}: {transfers} transfers in 640,000 operations");
            Ok(())
        });
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
            format!("{:x} {}", run.trace_hash, run.now_ns).into()
        })
        .unwrap()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Each access of one thread in turn, and each wake.
#[test]
fn every_scenario_outlives_what_disturbs_a_thread() {
    for (_, scenario) in ALL {
        for nth in 1..60 {
            let at = At::Thread { thread: 2, access: nth };
            let preempt = Disturbance::Preempt { at, for_ns: 30_000_000 };
            let stop = Disturbance::Stop { at, for_ns: 1_000_000_000 };
            let late = Disturbance::WakeLate { nth, by_ns: 50_000_000 };
            for disturbance in [preempt, stop, late] {
                alone(|| scenario(simulation("xeon-kvm-2", 1).disturb(disturbance)).map(drop));
            }
        }
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
