//! The barrier: rounds don't mix, one thread leads each, and may free the barrier at once.

use furwock::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

fn rounds(threads: u32, rounds: u32) {
    let barrier = Barrier::new(threads as usize);
    let (arrived, leaders) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for round in 1..=rounds {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    let leads = barrier.wait().is_leader();
                    leaders.fetch_add(u32::from(leads), Ordering::Relaxed);
                    assert_eq!(arrived.load(Ordering::Relaxed), round * threads, "before all came");
                    barrier.wait();
                    assert_eq!(leaders.load(Ordering::Relaxed), round);
                    // No thread counts for the next round before all have looked.
                    barrier.wait();
                }
            });
        }
    });
}

#[test]
fn rounds_of_any_size_dont_mix() {
    rounds(1, 100);
    rounds(2, 20_000);
    rounds(3, 5_000);
    rounds(16, 500);
    rounds(100, 50);
}

#[test]
fn a_barrier_for_no_thread_is_for_one() {
    assert!(Barrier::new(0).wait().is_leader());
}

/// More threads than the barrier is for: each call belongs to one round, and each round is
/// complete.
#[test]
fn more_threads_than_its_count() {
    const CALLS: u32 = 40_000;
    let (barrier, calls, leaders) = (Barrier::new(2), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                // An even number of calls: each waiter meets another thread.
                while calls.fetch_add(1, Ordering::Relaxed) < CALLS {
                    leaders.fetch_add(u32::from(barrier.wait().is_leader()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(leaders.into_inner(), CALLS / 2);
}

/// Each round has a barrier of its own, which the leader frees at once.
#[test]
fn the_leader_may_free_it_at_once() {
    for _ in 0..2_000 {
        let address = Box::into_raw(Box::new(Barrier::new(3))) as usize;
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    // SAFETY: the leader frees it, when all have arrived and no thread looks at it.
                    let barrier = unsafe { &*(address as *const Barrier) };
                    if barrier.wait().is_leader() {
                        // SAFETY: as above; once.
                        drop(unsafe { Box::from_raw(address as *mut Barrier) });
                    }
                });
            }
        });
    }
}
