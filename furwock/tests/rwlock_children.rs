//! The rwlock in forked children: threads that only the parent has hold up no thread there.

mod common;
mod process;

use common::rwlocks::{POLICIES, bias, in_ms, kept_lock, nap, pass};
use common::{asleep, bounded, burn, join_all, kept};
use furwock::lock::{Options, RawRwLock};
use process::child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The calls that fail in a child, a bit for each.
fn failed_in_child(calls: impl FnOnce() -> [bool; 6]) -> i32 {
    child(|| calls().iter().rev().fold(0, |failed, good| failed << 1 | i32::from(!good))).end()
}

/// Takes a lock that no thread of this process has in every way, first in those that don't wait.
fn take_in_every_way(lock: &RawRwLock, [first, second, third]: [usize; 3]) -> [bool; 6] {
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
fn sleeping_writer(lock: &'static RawRwLock) -> JoinHandle<()> {
    asleep(|| pass(lock, true))
}

/// The orders in which a child tries the ways that don't wait.
const ORDERS: [[usize; 3]; 3] = [[0, 1, 2], [1, 2, 0], [2, 0, 1]];

/// `wait` lets the parent read, and a writer sleep for the lock. The child gives back the read
/// lock, and then gets the lock in every way.
fn a_child_takes_it(wait: impl Fn(&'static RawRwLock) -> JoinHandle<()> + Send + 'static) {
    bounded(move || {
        for policy in POLICIES {
            for first in ORDERS {
                let lock = kept_lock(policy);
                let writer = wait(lock);
                let failed = failed_in_child(|| {
                    lock.unlock_shared();
                    take_in_every_way(lock, first)
                });
                lock.unlock_shared();
                writer.join().unwrap();
                assert_eq!(failed, 0, "{policy:?}, {first:?}: bits of the ways that failed");
            }
        }
    });
}

/// In the parent the last reader hands the lock over to a writer, which the child doesn't have.
#[test]
fn a_hand_off_to_a_parents_thread_keeps_no_thread_out() {
    a_child_takes_it(|lock| {
        lock.lock_shared();
        lock.lock_shared_with(&Options::new().recursive(true));
        let writer = sleeping_writer(lock);
        lock.ask_for_hand_off();
        lock.unlock_shared();
        writer
    });
}

/// Threads that sleep for the lock in the parent aren't waited for in the child, not even by
/// threads that would have to let them go first.
#[test]
fn a_parents_sleepers_go_before_no_thread() {
    a_child_takes_it(|lock| {
        lock.lock_shared();
        sleeping_writer(lock)
    });
}

/// A writer that has taken the lock in the parent, and waits there for the reader that forks,
/// writes nothing in the child.
#[test]
fn a_parents_writer_that_waits_for_a_biased_reader_keeps_no_thread_out() {
    a_child_takes_it(|lock| {
        bias(lock);
        lock.lock_shared();
        let writer = sleeping_writer(lock);
        assert_ne!(lock.owner(), 0, "{:?}: the writer waits for a slot", lock.policy());
        writer
    });
}

/// As with `pthread_atfork`, the lock is held over the fork and released on both sides, whatever
/// its waiters do at that moment.
#[test]
fn a_lock_held_over_a_fork_is_free_in_the_child_once_released() {
    bounded(|| {
        for policy in POLICIES {
            let (lock, stop) = (kept_lock(policy), kept(AtomicBool::new(false)));
            let write = || {
                while !stop.load(Ordering::Relaxed) {
                    lock.lock_exclusive();
                    burn(Duration::from_micros(2500));
                    lock.unlock_exclusive();
                }
            };
            let writers = [(); 3].map(|()| thread::spawn(write));
            for round in 0..18 {
                lock.lock_exclusive();
                nap(1 + round % 9);
                let failed = failed_in_child(|| {
                    lock.unlock_exclusive();
                    take_in_every_way(lock, ORDERS[round as usize % 3])
                });
                lock.unlock_exclusive();
                assert_eq!(failed, 0, "{policy:?}, fork {round}: bits of the ways that failed");
            }
            stop.store(true, Ordering::Relaxed);
            join_all(writers);
        }
    });
}
