//! How often threads at a bounded queue switch where all of them share one processor. A child
//! counts: it allows itself one before it uses any lock.

mod common;
mod process;

use furwock::lock::{RawCondvar, RawMutex};
use process::{child, keep_processors};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const ITEMS: usize = 20_000;

/// Two threads at a queue, one of which fills it and one empties it. Each signals the other with
/// the mutex held, after every item.
fn pass_items_on(places: usize) {
    let (mutex, items) = (RawMutex::new(), AtomicUsize::new(0));
    let [not_empty, not_full] = [RawCondvar::new(), RawCondvar::new()];
    let pass = |waits_at: usize, waits_for: &RawCondvar, signals: &RawCondvar, add: usize| {
        for _ in 0..ITEMS {
            mutex.lock();
            while items.load(Ordering::Relaxed) == waits_at {
                waits_for.wait(&mutex, None);
            }
            items.store(items.load(Ordering::Relaxed).wrapping_add(add), Ordering::Relaxed);
            signals.notify_one();
            mutex.unlock();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| pass(places, &not_full, &not_empty, 1));
        pass(0, &not_empty, &not_full, usize::MAX);
    });
}

/// How often this process's threads have left the processor, of themselves or not.
fn switches() -> i64 {
    // SAFETY: a `rusage` may be zero bytes, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &raw mut usage), 0);
        usage.ru_nvcsw + usage.ru_nivcsw
    }
}

/// Switches for ten items.
fn switches_for_ten(places: usize) -> i32 {
    let count = || {
        keep_processors(1);
        let before = switches();
        pass_items_on(places);
        i32::try_from((switches() - before) * 10 / ITEMS as i64).map_or(200, |many| many.min(200))
    };
    let switches = child(count).end();
    println!("{switches} switches for ten items, {places} places");
    assert!(switches >= 0, "ended by signal {}", -switches);
    switches
}

/// Each item takes two: one to the thread that is woken, and one as that sleeps. Were waiters woken
/// before the mutex is free, it would take six.
#[test]
fn two_threads_at_a_queue_with_one_place_switch_twice_an_item() {
    let switches = switches_for_ten(1);
    assert!(switches < 40, "{switches}");
}

/// One thread fills the queue, and then the other empties it. Were waiters moved to the mutex, for
/// its release to wake, each item would take two switches.
#[test]
fn two_threads_at_a_queue_with_room_switch_seldom() {
    let switches = switches_for_ten(16);
    assert!(switches < 10, "{switches}");
}
