//! How often threads at a bounded queue switch where all of them share one processor, and those
//! that wait for one another at other locks; and how often one is passed that was woken. A child
//! counts: it allows itself one before it uses any lock. One child at a time: each would be another
//! program to the others.

mod common;
mod process;

use common::{eventually, is_asleep};
use furwock::lock::{RawBarrier, RawCondvar, RawMutex, RawSemaphore, forgo_yields, thread_id};
use process::{child, keep_processors};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const STEPS: usize = 20_000;
const THREADS: usize = 8;

/// Two threads at a queue, one of which fills it and one empties it. Each signals the other with
/// the mutex held, after every item.
fn pass_items_on(places: usize) {
    let (mutex, items) = (RawMutex::new(), AtomicUsize::new(0));
    let [not_empty, not_full] = [RawCondvar::new(), RawCondvar::new()];
    let pass = |waits_at: usize, waits_for: &RawCondvar, signals: &RawCondvar, add: usize| {
        for _ in 0..STEPS {
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

/// How often this process's threads have left the processor: as they slept, and in between (also by
/// a yield).
fn switches() -> [i64; 2] {
    // SAFETY: a `rusage` may be zero bytes, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &raw mut usage), 0);
        [usage.ru_nvcsw, usage.ru_nivcsw]
    }
}

/// What a child comes to, while no other runs.
fn end_of_child(run: impl FnOnce() -> i32) -> i32 {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    child(run).end()
}

/// How often threads switch for ten of `STEPS` items, or of as many of another kind: as they sleep
/// only, or in all.
fn switches_for_ten(sleeps_only: bool, steps: impl Fn()) -> i32 {
    let count = || {
        let switches = || switches().into_iter().take(if sleeps_only { 1 } else { 2 }).sum::<i64>();
        keep_processors(1);
        let before = switches();
        steps();
        i32::try_from((switches() - before) * 10 / STEPS as i64).map_or(200, |many| many.min(200))
    };
    let switches = end_of_child(count);
    println!("{switches} switches for ten");
    assert!(switches >= 0, "ended by signal {}", -switches);
    switches
}

/// Each item takes two: one to the thread that is woken, and one as that sleeps. Were waiters woken
/// before the mutex is free, it would take six.
#[test]
fn two_threads_at_a_queue_with_one_place_switch_twice_an_item() {
    let switches = switches_for_ten(false, || pass_items_on(1));
    assert!(switches < 40, "{switches}");
}

/// One thread fills the queue, and then the other empties it. Were waiters moved to the mutex, for
/// its release to wake, each item would take two switches.
#[test]
fn two_threads_at_a_queue_with_room_switch_seldom() {
    let switches = switches_for_ten(false, || pass_items_on(16));
    assert!(switches < 10, "{switches}");
}

/// Each of some threads waits for its own permit, and gives the next one its.
fn pass_a_permit_around() {
    let permits: Vec<RawSemaphore> =
        (0..THREADS).map(|at| RawSemaphore::new(u32::from(at == 0)).unwrap()).collect();
    in_threads(|at| {
        permits[at].acquire();
        permits[(at + 1) % THREADS].release().unwrap();
    });
}

/// So many times in all.
fn in_threads(step: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for at in 0..THREADS {
            let step = &step;
            scope.spawn(move || (0..STEPS / THREADS).for_each(|_| step(at)));
        }
    });
}

/// Threads that slept would do so once a step. Beside another program that wants the processor they
/// do: then another try may say more, for ten seconds.
#[track_caller]
fn assert_that_few_sleep(steps: fn()) {
    let end = Instant::now() + Duration::from_secs(10);
    while switches_for_ten(true, steps) >= 5 {
        if Instant::now() > end {
            assert!(long_yields() > 1, "each step takes a sleep");
            println!("not tried: another program wants the processor all the time");
            return;
        }
    }
}

/// How many of a thousand yields by the only thread take as long as another program's time slice.
fn long_yields() -> i32 {
    end_of_child(|| {
        keep_processors(1);
        let is_long = |_: &i32| {
            let begun = Instant::now();
            thread::yield_now();
            begun.elapsed() > Duration::from_micros(200)
        };
        (0..1_000).filter(is_long).count().min(200) as i32
    })
}

#[test]
fn threads_that_pass_a_permit_around_do_not_sleep() {
    assert_that_few_sleep(pass_a_permit_around);
}

#[test]
fn threads_that_meet_at_a_barrier_do_not_sleep() {
    assert_that_few_sleep(|| {
        let barrier = RawBarrier::new();
        in_threads(|_| _ = barrier.wait(THREADS as u32));
    });
}

#[test]
fn threads_that_yield_with_a_mutex_do_not_sleep() {
    assert_that_few_sleep(|| {
        let mutex = RawMutex::new();
        in_threads(|_| {
            mutex.lock();
            thread::yield_now();
            mutex.unlock();
        });
    });
}

/// Threads that yield with a mutex and without it might be one another's spinner in twos, and the
/// others would sleep on.
#[test]
fn threads_that_yield_to_one_another_all_get_the_mutex() {
    let counts = || {
        keep_processors(1);
        let (mutex, counts) = (RawMutex::new(), [const { AtomicUsize::new(0) }; THREADS]);
        let end = Instant::now() + Duration::from_millis(500);
        in_threads(|at| {
            while Instant::now() < end {
                mutex.lock();
                thread::yield_now();
                mutex.unlock();
                thread::yield_now();
                counts[at].fetch_add(1, Ordering::Relaxed);
            }
        });
        let counts = counts.map(AtomicUsize::into_inner);
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        (100 * least / most) as i32
    };
    let percent = end_of_child(counts);
    assert!(percent > 20, "one gets the mutex {percent} % as often as another");
}

/// How often a thread takes and releases two mutexes, for one of which another waits and has been
/// woken, until that one has had it: the median of some rounds, in sixteens.
fn passes_of_a_woken_waiter(forgoes_yields: bool) -> i32 {
    let pass = |locks: &[RawMutex; 2]| {
        let (waiter, had, mut passes) = (AtomicU32::new(0), AtomicBool::new(false), 0_usize);
        locks[0].lock();
        thread::scope(|scope| {
            scope.spawn(|| {
                waiter.store(thread_id(), Ordering::Relaxed);
                locks[0].lock();
                had.store(true, Ordering::Relaxed);
                locks[0].unlock();
            });
            eventually("the other waits", || is_asleep(waiter.load(Ordering::Relaxed)));
            locks[0].unlock();
            while !had.load(Ordering::Relaxed) {
                for lock in locks {
                    lock.lock();
                    lock.unlock();
                }
                passes += 1;
            }
        });
        passes
    };
    end_of_child(|| {
        keep_processors(1);
        if forgoes_yields {
            forgo_yields();
        }
        let locks = [RawMutex::new(), RawMutex::new()];
        let mut passes = [(); 11].map(|()| pass(&locks));
        passes.sort_unstable();
        (passes[5] / 16).min(200) as i32
    })
}

/// Threads that pass it yield to it, after 64 times at the latest: without yields it waits for a
/// time slice. (Beside other programs slices are short. Those that pass it don't run meanwhile.)
#[test]
fn a_woken_waiter_of_one_of_two_mutexes_soon_runs() {
    let median = |forgoes| {
        let mut passes = [(); 9].map(|()| passes_of_a_woken_waiter(forgoes));
        passes.sort_unstable();
        passes[4]
    };
    let [with_yields, without] = [median(false), median(true)];
    println!("passed {with_yields} times with yields, {without} without, in sixteens");
    assert!(with_yields <= 8);
}
