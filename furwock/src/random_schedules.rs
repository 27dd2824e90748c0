//! What shuttle checks: random schedules of scenarios that are too large for loom. Sequentially
//! consistent, so no evidence on orderings. A failure prints the schedule that repeats it.
//!
//! Run with `RUSTFLAGS="--cfg shuttle" cargo test --release -p furwock --lib random_schedules`.

use crate::lock::{Options, Policy, RawCondvar, RawMutex, RawRwLock};
use crate::prim::CheckedCell;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::{Clock, Deadline};
use shuttle::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const SCHEDULES: usize = 1500;

fn explore(scenario: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(scenario, SCHEDULES);
    shuttle::check_pct(scenario, SCHEDULES, 3);
}

fn passed() -> Deadline {
    Deadline::at(Clock::Monotonic, 0, 0).unwrap()
}

fn over() -> Options {
    Options::new().until(passed())
}

fn in_threads(count: usize, work: impl Fn(usize) + Send + Sync + 'static) {
    let work = Arc::new(work);
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let work = Arc::clone(&work);
            thread::spawn(move || work(number))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Six threads, two of them impatient, count under one mutex.
fn crowded_mutex() {
    let shared = Arc::new((RawMutex::new(), CheckedCell::new(0), AtomicU32::new(0)));
    let own = Arc::clone(&shared);
    in_threads(6, move |number| {
        for _ in 0..3 {
            if number < 2 {
                if own.0.lock_with(&over()).is_none() {
                    continue;
                }
            } else {
                own.0.lock();
            }
            // SAFETY: under the mutex.
            unsafe { own.1.set(own.1.get() + 1) };
            own.0.unlock();
            own.2.fetch_add(1, Ordering::Relaxed);
        }
    });
    // SAFETY: all threads have ended.
    assert_eq!(unsafe { shared.1.get() }, shared.2.load(Ordering::Relaxed));
}

/// Five waiters pass a gate that a broadcast opens; three more impatient ones come and go.
fn crowded_condvar() {
    let shared = Arc::new((RawMutex::new(), RawCondvar::new(), CheckedCell::new(false)));
    in_threads(9, move |number| {
        let (mutex, condvar, open) = &*shared;
        mutex.lock();
        match number {
            0 => {
                // SAFETY: under the mutex.
                unsafe { open.set(true) };
                condvar.notify_all();
            }
            1..4 => _ = condvar.wait(mutex, Some(&passed())),
            _ => {
                // SAFETY: under the mutex.
                while !unsafe { open.get() } {
                    condvar.wait(mutex, None);
                }
            }
        }
        mutex.unlock();
    });
}

#[derive(Default)]
#[repr(align(128))]
struct Document {
    lock: RawRwLock,
    /// A writer changes one after the other: to others they are the same.
    pages: [AtomicU32; 2],
    written: AtomicU32,
}

impl Document {
    fn look(&self) -> u32 {
        let [first, second] = [0, 1].map(|page: usize| self.pages[page].load(Ordering::Relaxed));
        assert_eq!(first, second, "a writer beside a reader");
        first
    }

    fn change(&self) {
        let seen = self.look();
        self.pages.iter().for_each(|page| page.store(seen + 1, Ordering::Relaxed));
        self.written.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self, entered: bool) {
        if entered {
            self.look();
            self.lock.unlock_shared();
        }
    }

    fn write(&self, entered: bool) {
        if entered {
            self.change();
            self.lock.unlock_exclusive();
        }
    }

    fn read_and_upgrade(&self, upgrade: impl Fn(&RawRwLock) -> bool) {
        self.lock.lock_upgradable();
        let seen = self.look();
        if upgrade(&self.lock) {
            assert_eq!(self.look(), seen, "a writer beside an upgradable reader");
            self.write(true);
        } else {
            self.look();
            self.lock.unlock_upgradable();
        }
    }

    /// What the thread of this number does.
    fn work(&self, number: usize) {
        match number {
            0 | 1 => {
                self.lock.lock_exclusive();
                self.write(true);
            }
            2 => self.read_and_upgrade(|lock| {
                lock.upgrade();
                true
            }),
            3 => self.read_and_upgrade(|lock| lock.upgrade_with(&over()).is_some()),
            4 => self.write(self.lock.lock_exclusive_with(&over()).is_some()),
            5 => self.read(self.lock.lock_shared_with(&over()).is_some()),
            6 => {
                self.lock.lock_exclusive();
                self.change();
                self.lock.downgrade();
                self.read(true);
            }
            _ => {
                self.lock.lock_shared();
                self.read(true);
            }
        }
    }
}

/// Eight threads read, write and upgrade, some of them impatient.
fn crowded_rwlock(policy: Policy, biased: bool) {
    let lock = if biased { RawRwLock::biased() } else { RawRwLock::new() };
    lock.set_policy(policy);
    let shared = Arc::new(Document { lock, ..Document::default() });
    let own = Arc::clone(&shared);
    in_threads(8, move |number| (0..2).for_each(|_| own.work(number)));
    assert_eq!(shared.look(), shared.written.load(Ordering::Relaxed));
    assert!(shared.lock.is_quiet(), "{:?}", shared.lock);
}

#[test]
fn a_crowded_rwlock_loses_no_thread_under_any_policy() {
    for policy in [
        Policy::PhaseFair,
        Policy::Recursive,
        Policy::PreferReaders,
        Policy::PreferWriters,
        Policy::PreferWritersRecursive,
    ] {
        for biased in [false, true] {
            explore(move || crowded_rwlock(policy, biased));
        }
    }
}

#[test]
fn a_crowded_mutex_loses_no_thread() {
    explore(crowded_mutex);
}

#[test]
fn a_crowded_condvar_loses_no_thread() {
    explore(crowded_condvar);
}

#[track_caller]
fn rejects(mutant: Mutant, scenario: impl Fn() + Copy + Send + Sync + 'static) {
    mutant::choose(Some(mutant));
    let result = catch_unwind(AssertUnwindSafe(|| explore(scenario)));
    mutant::choose(None);
    assert!(result.is_err(), "the schedules prove nothing");
}

#[test]
fn a_release_that_strands_its_sleepers_is_noticed() {
    rejects(Mutant::StaleWakeKept, crowded_mutex);
}

#[test]
fn a_rwlock_whose_leavers_strand_others_is_noticed() {
    rejects(Mutant::LeaverSettlesNothing, || crowded_rwlock(Policy::PhaseFair, false));
}

#[test]
fn a_rwlock_whose_last_reader_forgets_the_upgrader_is_noticed() {
    rejects(Mutant::UpgraderForgotten, || crowded_rwlock(Policy::PhaseFair, false));
}
