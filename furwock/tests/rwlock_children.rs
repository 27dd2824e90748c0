//! The rwlock in forked children: what its word says of threads that only the parent has, holds up
//! nobody there.

mod common;

use common::{bounded, eventually, is_asleep};
use furwock::Deadline;
use furwock::lock::{Options, Policy, RawRwLock, thread_id};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const POLICIES: [Policy; 5] = [
    Policy::PhaseFair,
    Policy::Recursive,
    Policy::PreferReaders,
    Policy::PreferWriters,
    Policy::PreferWritersRecursive,
];

/// Gives up after that long.
fn in_ms(ms: u64) -> Options {
    Options::new().until(Deadline::after(Duration::from_millis(ms)))
}

/// What a child's calls came to, each a bit of how it ends: those that came to nothing.
fn in_child(calls: impl FnOnce() -> [bool; 6]) -> i32 {
    // SAFETY: the child calls only what furwock allows there, and leaves.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: a call that never ends doesn't keep the child.
        unsafe { libc::alarm(10) };
        let failed = calls().iter().rev().fold(0, |failed, good| failed << 1 | i32::from(!good));
        // SAFETY: ends the child.
        unsafe { libc::_exit(failed) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 }
}

/// Every way to take a lock that nobody in this process has, the impatient ones first.
fn take_by_every_way(lock: &RawRwLock, [first, second, third]: [usize; 3]) -> [bool; 6] {
    let mut good = [true; 6];
    for way in [first, second, third, 3, 4, 5] {
        good[way] = match way {
            0 => lock.try_lock_exclusive(),
            1 => lock.try_lock_upgradable(),
            2 => lock.try_lock_shared(),
            3 => lock.lock_shared_with(&in_ms(2000)).is_some(),
            4 => lock.lock_upgradable_with(&in_ms(2000)).is_some(),
            _ => lock.lock_exclusive_with(&in_ms(2000)).is_some(),
        };
        match way {
            _ if !good[way] => {}
            0 | 5 => _ = lock.unlock_exclusive(),
            1 | 4 => _ = lock.unlock_upgradable(),
            _ => _ = lock.unlock_shared(),
        }
    }
    good
}

/// A thread that waits to write, asleep.
fn sleeping_writer(lock: &Arc<RawRwLock>) -> JoinHandle<()> {
    let (tell, told) = channel();
    let lock = Arc::clone(lock);
    let writer = thread::spawn(move || {
        tell.send(thread_id()).unwrap();
        lock.lock_exclusive();
        lock.unlock_exclusive();
    });
    let tid = told.recv().unwrap();
    eventually("the writer sleeps", || is_asleep(tid));
    writer
}

/// The orders in which a child tries the ways that don't wait.
const ORDERS: [[usize; 3]; 3] = [[0, 1, 2], [1, 2, 0], [2, 0, 1]];

/// `wait` has the parent read, and a writer sleep for the lock. The child leaves in the reader's
/// place, and gets the lock by every way.
fn a_child_takes_it(wait: impl Fn(&Arc<RawRwLock>) -> JoinHandle<()> + Send + 'static) {
    bounded(move || {
        for policy in POLICIES {
            for first in ORDERS {
                let lock = Arc::new(RawRwLock::with_policy(policy));
                let writer = wait(&lock);
                let failed = in_child(|| {
                    lock.unlock_shared();
                    take_by_every_way(&lock, first)
                });
                lock.unlock_shared();
                writer.join().unwrap();
                assert_eq!(failed, 0, "{policy:?}, {first:?}: bits of the ways that failed");
            }
        }
    });
}

/// The parent's last reader was to hand the lock over to a writer that the child doesn't have.
#[test]
fn a_hand_off_to_a_parents_thread_keeps_nobody_out() {
    a_child_takes_it(|lock| {
        lock.lock_shared();
        lock.lock_shared_with(&Options::new().recursive(true));
        let writer = sleeping_writer(lock);
        lock.ask_for_hand_off();
        lock.unlock_shared();
        writer
    });
}

/// Threads that sleep for the lock in the parent wait for nothing in the child: not even threads
/// that go last there have to let them go first.
#[test]
fn a_parents_sleepers_go_before_nobody() {
    a_child_takes_it(|lock| {
        lock.lock_shared();
        sleeping_writer(lock)
    });
}

/// A writer that has taken the lock in the parent, and waits there for the reader that forks,
/// writes nothing in the child.
#[test]
fn a_parents_writer_that_waits_for_a_biased_reader_keeps_nobody_out() {
    a_child_takes_it(|lock| {
        for _ in 0..200 {
            lock.lock_shared();
            lock.unlock_shared();
        }
        lock.lock_shared();
        let writer = sleeping_writer(lock);
        assert_ne!(lock.owner(), 0, "{:?}: the writer waits for a slot", lock.policy());
        writer
    });
}

/// As `pthread_atfork` has it: the lock is held over the fork, and released on both sides, whatever
/// its waiters are just about.
#[test]
fn a_lock_held_over_a_fork_is_free_in_the_child_once_released() {
    bounded(|| {
        for policy in POLICIES {
            let lock = Arc::new(RawRwLock::with_policy(policy));
            let stop = Arc::new(AtomicBool::new(false));
            let writers: Vec<_> = (0..3)
                .map(|_| {
                    let (lock, stop) = (Arc::clone(&lock), Arc::clone(&stop));
                    thread::spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            lock.lock_exclusive();
                            let started = Instant::now();
                            while started.elapsed() < Duration::from_micros(2500) {}
                            lock.unlock_exclusive();
                        }
                    })
                })
                .collect();
            for round in 0..18 {
                lock.lock_exclusive();
                thread::sleep(Duration::from_millis(1 + round % 9));
                let failed = in_child(|| {
                    lock.unlock_exclusive();
                    take_by_every_way(&lock, ORDERS[round as usize % 3])
                });
                lock.unlock_exclusive();
                assert_eq!(failed, 0, "{policy:?}, fork {round}: bits of the ways that failed");
            }
            stop.store(true, Ordering::Relaxed);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        }
    });
}
