//! The rwlock: which threads may be inside together, under every policy, and which get in at all.
//! `rwlock_hostile` has what attacks on it found, and `rwlock_storm` random ones.

mod common;
mod process;

use common::rwlocks::{
    POLICIES, READS_THAT_BIAS, bias, in_ms, kept_lock, lock, nap, pass, passes, unlock,
};
use common::{asleep, bounded, burn, elsewhere, eventually, join_all, kept};
use furwock::lock::{How, Options, Policy, RawRwLock, Status};
use furwock::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use process::holds_in_a_child;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn the_types_guards_do_what_they_say() {
    bounded(|| {
        let lock = RwLock::new(1);
        {
            let (one, other) = (lock.read(), lock.read());
            assert_eq!(*one + *other, 2);
            assert!(lock.try_write().is_none());
            let upgradable = lock.upgradable_read();
            assert!(lock.try_upgradable_read().is_none());
            assert!(RwLockUpgradableReadGuard::try_upgrade(upgradable).is_err());
        }
        let mut write = RwLockUpgradableReadGuard::upgrade(lock.upgradable_read());
        *write = 2;
        assert!(lock.try_read().is_none() && lock.is_locked_exclusive());
        let upgradable = RwLockWriteGuard::downgrade_to_upgradable(write);
        assert_eq!(*lock.read(), 2);
        let read = RwLockUpgradableReadGuard::downgrade(upgradable);
        assert!(lock.try_write_for(Duration::from_millis(5)).is_none());
        drop(read);
        assert!(!lock.is_locked());
        assert_eq!(*RwLockWriteGuard::downgrade(lock.write()), 2);
        assert_eq!(lock.into_inner(), 2);
    });
}

#[test]
fn a_deadline_ends_every_wait_and_leaves_the_lock_as_it_was() {
    bounded(|| {
        for policy in POLICIES {
            for biased in [false, true] {
                let lock = RawRwLock::with_policy(policy);
                if biased {
                    bias(&lock);
                }
                lock.lock_shared();
                elsewhere(|| {
                    let started = Instant::now();
                    assert!(!lock.try_lock_exclusive());
                    assert!(lock.lock_exclusive_with(&in_ms(20)).is_none());
                    assert!(started.elapsed() >= Duration::from_millis(20));
                    assert!(lock.try_lock_upgradable());
                    assert!(!lock.try_upgrade());
                    assert!(lock.upgrade_with(&in_ms(20)).is_none());
                    pass(&lock, false);
                    lock.unlock_upgradable();
                });
                lock.unlock_shared();
                lock.lock_exclusive();
                elsewhere(|| {
                    assert!(!lock.try_lock_shared());
                    assert!(lock.lock_shared_with(&in_ms(20)).is_none());
                    assert!(!lock.try_lock_upgradable());
                    assert!(lock.lock_upgradable_with(&in_ms(20)).is_none());
                });
                lock.unlock_exclusive();
                assert!(!lock.is_locked());
                assert!(lock.try_lock_exclusive());
                lock.unlock_exclusive();
            }
        }
    });
}

/// A writer that gives up at its deadline lets the threads in that waited behind it.
#[test]
fn a_writer_that_gives_up_holds_no_thread_up() {
    bounded(|| {
        for policy in POLICIES {
            let lock = kept_lock(policy);
            lock.lock_shared();
            let writer = asleep(|| assert!(lock.lock_exclusive_with(&in_ms(100)).is_none()));
            join_all([(); 3].map(|()| passes(lock, false)));
            writer.join().unwrap();
            lock.unlock_shared();
        }
    });
}

/// Whether a newcomer can read while one thread reads and another waits to write.
fn reads_past_a_waiting_writer(policy: Policy) -> bool {
    let lock = kept_lock(policy);
    lock.lock_shared();
    let writer = asleep(|| pass(lock, true));
    let entered = elsewhere(|| {
        let entered = lock.lock_shared_with(&in_ms(200)).is_some();
        if entered {
            lock.unlock_shared();
        }
        entered
    });
    lock.unlock_shared();
    writer.join().unwrap();
    entered
}

#[test]
fn the_policy_chooses_which_goes_first() {
    bounded(|| {
        assert!(!reads_past_a_waiting_writer(Policy::PhaseFair));
        assert!(!reads_past_a_waiting_writer(Policy::PreferWriters));
        assert!(reads_past_a_waiting_writer(Policy::PreferReaders));
        assert!(reads_past_a_waiting_writer(Policy::Recursive));
    });
}

#[test]
fn a_thread_that_reads_may_read_again_though_a_writer_waits() {
    bounded(|| {
        for biased in [false, true] {
            let lock = kept(RawRwLock::new());
            if biased {
                bias(lock);
            }
            lock.lock_shared();
            let writer = passes(lock, true);
            nap(20);
            lock.lock_shared_with(&Options::new().recursive(true));
            assert!(lock.try_lock_shared_recursive());
            (0..3).for_each(|_| _ = lock.unlock_shared());
            writer.join().unwrap();
        }
    });
}

/// When a writer leaves, all readers that wait enter together, before the next writer.
#[test]
fn readers_that_wait_enter_together() {
    bounded(|| {
        let (lock, together) = kept((RawRwLock::new(), Barrier::new(4)));
        lock.lock_exclusive();
        let read = || {
            lock.lock_shared();
            // This ends only if all four are inside at once.
            together.wait();
            lock.unlock_shared();
        };
        let readers = [(); 4].map(|()| asleep(read));
        let writer = asleep(|| pass(lock, true));
        assert_eq!(lock.unlock_exclusive(), 4);
        join_all(readers);
        writer.join().unwrap();
    });
}

/// However long the writer has waited: after 5 ms it asks for a hand-off.
#[test]
fn a_preferred_writer_goes_before_readers_that_have_waited_for_longer() {
    bounded(|| {
        for policy in [Policy::PreferWriters, Policy::PreferWritersRecursive] {
            let (lock, written) = (kept_lock(policy), kept(AtomicBool::new(false)));
            lock.lock_exclusive();
            let read = move || {
                lock.lock_shared();
                assert!(written.load(Ordering::Relaxed), "{policy:?}: a reader came first");
                lock.unlock_shared();
            };
            let readers = [(); 3].map(|()| asleep(read));
            let writer = asleep(|| {
                lock.lock_exclusive();
                written.store(true, Ordering::Relaxed);
                lock.unlock_exclusive();
            });
            nap(10);
            assert_eq!(lock.unlock_exclusive(), 1);
            join_all(readers);
            writer.join().unwrap();
        }
    });
}

/// The longest that one writer, or one reader, waited beside threads that never stop.
fn longest_wait(policy: Policy, greedy: usize, greedy_write: bool, writes: bool) -> Duration {
    let shared = RawRwLock::with_policy(policy);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..greedy {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    lock(&shared, greedy_write);
                    burn(Duration::from_micros(50));
                    unlock(&shared, greedy_write);
                }
            });
        }
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            nap(3);
            let started = Instant::now();
            pass(&shared, writes);
            longest = longest.max(started.elapsed());
        }
        stop.store(true, Ordering::Relaxed);
        longest
    })
}

/// The bounds are about a hundred times the measured waits (docs/experiments.md). A starved thread
/// would wait until the others end, that is for ever.
#[test]
fn no_thread_starves_under_the_fair_policies() {
    bounded(|| {
        let generous = Duration::from_secs(3);
        for policy in [Policy::PhaseFair, Policy::Recursive] {
            for (greedy_write, writes) in [(false, true), (true, false), (true, true)] {
                let longest = longest_wait(policy, 8, greedy_write, writes);
                println!("{policy:?}, greedy writers {greedy_write}, writer {writes}: {longest:?}");
                assert!(longest < generous, "{policy:?}: {longest:?}");
            }
        }
        for (greedy_write, writes) in [(false, true), (true, false), (true, true)] {
            let longest = longest_wait(Policy::PhaseFair, 63, greedy_write, writes);
            println!("among 63, greedy writers {greedy_write}, writer {writes}: {longest:?}");
            assert!(longest < generous, "{longest:?}");
        }
        assert!(longest_wait(Policy::PreferWriters, 8, false, true) < generous);
        assert!(longest_wait(Policy::PreferReaders, 8, true, false) < generous);
    });
}

fn lock_with(lock: &RawRwLock, writes: bool, options: &Options) -> Option<Status> {
    if writes { lock.lock_exclusive_with(options) } else { lock.lock_shared_with(options) }
}

#[test]
fn it_reports_how_it_was_acquired() {
    bounded(|| {
        let lock = kept(RawRwLock::new());
        let options = Options::new();
        assert_eq!(lock.lock_shared_with(&options).unwrap().how, How::Fast);
        lock.unlock_shared();
        let fast = lock.lock_exclusive_with(&options).unwrap();
        assert_eq!((fast.how, fast.sleeps, fast.owner_died), (How::Fast, 0, false));
        let waiters = [true, false].map(|writes| {
            asleep(move || {
                let status = lock_with(lock, writes, &Options::new());
                unlock(lock, writes);
                status
            })
        });
        lock.unlock_exclusive();
        for waiter in waiters {
            let status = waiter.join().unwrap().unwrap();
            assert!(matches!(status.how, How::Slept | How::HandedOver), "{status:?}");
            assert!(status.sleeps >= 1);
        }
    });
}

#[test]
fn a_dead_writers_lock_is_taken_over_and_reported() {
    bounded(|| {
        for writes in [true, false] {
            let lock = RawRwLock::new();
            elsewhere(|| lock.lock_exclusive());
            let status = lock_with(&lock, writes, &Options::new().owner_death(true));
            assert!(status.unwrap().owner_died);
            unlock(&lock, writes);
            assert!(!lock.is_locked());
        }
    });
}

/// A reader's guard that was forgotten must not speak of what comes to lie at its lock's address.
#[test]
fn a_forgotten_guard_holds_no_other_lock() {
    bounded(|| {
        let mut place = Box::new(RwLock::new(0));
        for round in 0..50 {
            for _ in 0..READS_THAT_BIAS {
                drop(place.read());
            }
            std::mem::forget(place.read());
            *place = RwLock::new(round);
            *place.write() += 1;
            assert_eq!(*place.read(), round + 1);
        }
    });
}

/// A thread that ends inside stays inside, even if another thread gets its slots.
#[test]
fn a_thread_that_ends_inside_stays_inside() {
    bounded(|| {
        let lock = RawRwLock::new();
        bias(&lock);
        elsewhere(|| lock.lock_shared());
        for _ in 0..20 {
            elsewhere(|| {
                let others = RawRwLock::new();
                bias(&others);
                others.lock_shared();
                assert!(!lock.try_lock_exclusive());
                others.unlock_shared();
            });
        }
        assert!(lock.lock_exclusive_with(&in_ms(10)).is_none());
        assert!(lock.is_locked());
    });
}

/// A thread reads more locks at once than it has slots, and each twice.
#[test]
fn a_thread_reads_many_biased_locks_at_once() {
    bounded(|| {
        let locks = [(); 100].map(|()| RawRwLock::new());
        locks.iter().for_each(bias);
        for _ in 0..3 {
            locks.iter().for_each(|lock| {
                lock.lock_shared();
                lock.lock_shared();
            });
            elsewhere(|| assert!(locks.iter().all(|lock| !lock.try_lock_exclusive())));
            locks.iter().for_each(|lock| {
                lock.unlock_shared();
                lock.unlock_shared();
            });
            assert!(locks.iter().all(|lock| !lock.is_locked()));
            locks.iter().for_each(bias);
        }
    });
}

/// A writer that sleeps until readers withdraw is woken by them.
#[test]
fn a_writer_waits_for_long_biased_readers() {
    bounded(|| {
        let (lock, inside) = (RawRwLock::new(), AtomicUsize::new(0));
        // They may all have left before this thread looks.
        let came = AtomicBool::new(false);
        let read = || {
            lock.lock_shared();
            inside.fetch_add(1, Ordering::SeqCst);
            came.store(true, Ordering::SeqCst);
            nap(20);
            inside.fetch_sub(1, Ordering::SeqCst);
            lock.unlock_shared();
        };
        for _ in 0..5 {
            bias(&lock);
            thread::scope(|scope| {
                (0..6).for_each(|_| _ = scope.spawn(read));
                eventually("a reader has come", || came.swap(false, Ordering::SeqCst));
                lock.lock_exclusive();
                assert_eq!(inside.load(Ordering::SeqCst), 0);
                lock.unlock_exclusive();
            });
        }
    });
}

/// A forked child has the locks that its thread holds, and not those of the parent's other threads.
#[test]
fn a_child_keeps_its_own_reads() {
    bounded(|| {
        let (own, others) = (RawRwLock::new(), RawRwLock::new());
        bias(&own);
        bias(&others);
        let (reading, release) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                others.lock_shared();
                reading.wait();
                release.wait();
                others.unlock_shared();
            });
            own.lock_shared();
            reading.wait();
            holds_in_a_child(|| {
                let excluded = !own.try_lock_exclusive();
                own.unlock_shared();
                excluded && own.try_lock_exclusive() && others.try_lock_exclusive()
            });
            assert!(!own.try_lock_exclusive() && !others.try_lock_exclusive());
            own.unlock_shared();
            release.wait();
        });
        assert!(own.try_lock_exclusive() && others.try_lock_exclusive());
    });
}

/// A child that was forked while others waited may use the lock.
#[test]
fn a_child_forgets_its_parents_waiters() {
    bounded(|| {
        let lock = kept(RawRwLock::new());
        lock.lock_exclusive();
        let waiters = [false, true, false].map(|writes| passes(lock, writes));
        nap(30);
        holds_in_a_child(|| {
            lock.unlock_exclusive();
            let writes = lock.lock_exclusive_with(&in_ms(2000)).is_some();
            lock.unlock_exclusive();
            writes && lock.lock_shared_with(&in_ms(2000)).is_some()
        });
        lock.unlock_exclusive();
        join_all(waiters);
    });
}
