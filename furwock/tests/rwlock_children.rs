//! The rwlock in forked children: what its word says of threads that only the parent has, holds up
//! nobody there.

mod common;

use common::{bounded, eventually, is_asleep};
use furwock::Deadline;
use furwock::lock::{Policy, RawRwLock, thread_id};
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

fn in_ms(ms: u64) -> Deadline {
    Deadline::after(Duration::from_millis(ms))
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
            3 => lock.lock_shared_until(&in_ms(2000)),
            4 => lock.lock_upgradable_until(&in_ms(2000)),
            _ => lock.lock_exclusive_until(&in_ms(2000)),
        };
        match way {
            _ if !good[way] => {}
            0 | 5 => lock.unlock_exclusive(),
            1 | 4 => _ = lock.unlock_upgradable(),
            _ => lock.unlock_shared(),
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

/// The parent's last reader was to hand the lock over to a writer that the child doesn't have.
#[test]
fn a_hand_off_to_a_parents_thread_keeps_nobody_out() {
    bounded(|| {
        for policy in POLICIES {
            for first in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
                let lock = Arc::new(RawRwLock::with_policy(policy));
                lock.lock_shared();
                lock.lock_shared_recursive();
                let writer = sleeping_writer(&lock);
                lock.unlock_shared_fair();
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

/// Threads that sleep for the lock in the parent wait for nothing in the child: not even those who go
/// last there have to let them go first.
#[test]
fn a_parents_sleepers_go_before_nobody() {
    bounded(|| {
        for policy in POLICIES {
            for first in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
                let lock = Arc::new(RawRwLock::with_policy(policy));
                lock.lock_shared();
                let writer = sleeping_writer(&lock);
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

/// A writer that has taken the lock in the parent, and waits there for the reader that forks, writes
/// nothing in the child.
#[test]
fn a_parents_writer_that_waits_for_a_biased_reader_keeps_nobody_out() {
    bounded(|| {
        for policy in POLICIES {
            for first in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
                let lock = Arc::new(RawRwLock::with_policy(policy));
                for _ in 0..200 {
                    lock.lock_shared();
                    lock.unlock_shared();
                }
                lock.lock_shared();
                let writer = sleeping_writer(&lock);
                assert_ne!(lock.owner(), 0, "{policy:?}: the writer waits for a slot");
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
                    take_by_every_way(&lock, [[0, 1, 2], [1, 2, 0], [2, 0, 1]][round as usize % 3])
                });
                lock.unlock_exclusive();
                assert_eq!(failed, 0, "{policy:?}, fork {round}: bits of the ways that failed");
            }
            stop.store(true, Ordering::Relaxed);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        }
    });
}
