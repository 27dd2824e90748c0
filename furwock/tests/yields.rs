//! Waiters of rwlocks yield before they sleep, so do some that a condvar's signal woke and on one
//! processor nearly all, mutexes whose holders yield ask for the program's processor time and
//! spinners for their holder's, and several threads are woken two by two, unless a sandbox forbids
//! it or the program forgoes it. Seccomp filters in children play the sandboxes.

mod common;
mod process;

use common::seccomp::{NUMBER, allow, argument, jump, live_under, load, refuse, trap};
use furwock::lock::{
    RawBarrier, RawCondvar, RawMutex, RawNotify, RawParker, RawRwLock, RawSemaphore, forgo_yields,
    prepare,
};
use furwock::unstable::refuses_wait;
use libc::sock_filter;
use process::{child, keep_processors};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;

const NO_SECCOMP: i32 = 77;

/// Has `verdict` on `sched_yield`.
fn of_yields(verdict: sock_filter) -> Vec<sock_filter> {
    let is_yield = jump(libc::BPF_JEQ, libc::SYS_sched_yield as u32, 0, 1);
    vec![load(NUMBER), is_yield, verdict, allow()]
}

/// Has `verdict` on the question how much processor time the program has used.
fn of_processor_time(verdict: sock_filter) -> Vec<sock_filter> {
    let asks_a_clock = jump(libc::BPF_JEQ, libc::SYS_clock_gettime as u32, 0, 3);
    let is_this = jump(libc::BPF_JEQ, libc::CLOCK_PROCESS_CPUTIME_ID as u32, 0, 1);
    vec![load(NUMBER), asks_a_clock, load(argument(0)), is_this, verdict, allow()]
}

/// Has `verdict` on the question how much processor time a certain thread has used.
fn of_threads_times(verdict: sock_filter) -> Vec<sock_filter> {
    let asks_a_clock = jump(libc::BPF_JEQ, libc::SYS_clock_gettime as u32, 0, 3);
    let is_negative = jump(libc::BPF_JSET, 1 << 31, 0, 1);
    vec![load(NUMBER), asks_a_clock, load(argument(0)), is_negative, verdict, allow()]
}

/// Has `verdict` on the call that wakes two threads.
fn of_wakes_of_two(verdict: sock_filter) -> Vec<sock_filter> {
    let is_futex = jump(libc::BPF_JEQ, libc::SYS_futex as u32, 0, 3);
    let operation = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    let is_this = jump(libc::BPF_JEQ, operation as u32, 0, 1);
    vec![load(NUMBER), is_futex, load(argument(1)), is_this, verdict, allow()]
}

/// Asserts that `signal` ends a child that runs for ever under `filter`. Unless it is to be killed
/// for a call, an alarm ends it, after so long that it would have made it.
#[track_caller]
fn assert_ended(signal: i32, filter: Vec<sock_filter>, before: impl FnOnce(), run: fn()) {
    let live = || {
        if live_under(&filter).is_err() {
            return NO_SECCOMP;
        }
        before();
        // SAFETY: no memory is involved, and no handler is set.
        unsafe { libc::alarm(if signal == libc::SIGALRM { 1 } else { 60 }) };
        run();
        0
    };
    match child(live).end() {
        NO_SECCOMP => println!("skipped: no filters here"),
        end => assert_eq!(end, -signal),
    }
}

/// Waits for a rwlock.
fn wait() {
    let lock = RawRwLock::new();
    lock.lock_exclusive();
    lock.lock_shared();
}

/// Lets threads yield with a mutex.
fn take_turns() {
    let lock = RawMutex::new();
    let take = || {
        loop {
            lock.lock();
            thread::yield_now();
            lock.unlock();
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(take);
        }
    });
}

/// Lets threads pass one thing on by signals, which they send with the mutex held. On two
/// processors: where more idle, signals wake few threads on their sender's.
fn pass_on() {
    keep_processors(2);
    let (lock, is_full) = (RawMutex::new(), AtomicBool::new(false));
    let changed = [RawCondvar::new(), RawCondvar::new()];
    let turn = |fills: bool| {
        loop {
            lock.lock();
            while is_full.load(Ordering::Relaxed) == fills {
                changed[usize::from(fills)].wait(&lock, None);
            }
            is_full.store(fills, Ordering::Relaxed);
            changed[usize::from(!fills)].notify_one();
            lock.unlock();
        }
    };
    thread::scope(|scope| {
        for k in 0..8 {
            scope.spawn({
                let turn = &turn;
                move || turn(k % 2 == 0)
            });
        }
    });
}

/// Lets threads wait for one that has a mutex for long, and runs.
fn compute_with_a_mutex() {
    let lock = RawMutex::new();
    let compute = || {
        loop {
            lock.lock();
            let began = Instant::now();
            while began.elapsed() < Duration::from_micros(200) {}
            lock.unlock();
            sleep();
        }
    };
    thread::scope(|scope| {
        scope.spawn(compute);
        compute();
    });
}

/// Lets three threads read after each write, and aborts if one of them isn't woken.
fn read_together() {
    let (lock, reads) = (RawRwLock::new(), [const { AtomicUsize::new(0) }; 3]);
    let count = || reads.each_ref().map(|reads| reads.load(Ordering::Relaxed));
    thread::scope(|scope| {
        for reads in &reads {
            scope.spawn(|| {
                loop {
                    lock.lock_shared();
                    lock.unlock_shared();
                    reads.fetch_add(1, Ordering::Relaxed);
                    sleep();
                }
            });
        }
        loop {
            lock.lock_exclusive();
            thread::sleep(Duration::from_millis(20));
            let (before, left) = (count(), Instant::now());
            lock.unlock_exclusive();
            while count().iter().zip(before).any(|(&now, before)| now == before) {
                if left.elapsed() > Duration::from_millis(700) {
                    std::process::abort();
                }
                sleep();
            }
        }
    });
}

/// Lets two threads answer each other on one processor.
fn answer_each_other() {
    keep_processors(1);
    let [here, there] = [1, 0].map(|permits| RawSemaphore::new(permits).unwrap());
    let answer = |to: &RawSemaphore, from: &RawSemaphore| {
        loop {
            to.acquire();
            from.release().unwrap();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| answer(&here, &there));
        answer(&there, &here);
    });
}

/// Has four threads do the same on one processor, for ever.
fn on_one_processor(step: impl Fn() + Sync) {
    keep_processors(1);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    step();
                }
            });
        }
    });
}

fn sleep() {
    thread::sleep(Duration::from_micros(1));
}

fn sleep_with_a_mutex() {
    let lock = RawMutex::new();
    on_one_processor(|| {
        lock.lock();
        sleep();
        lock.unlock();
    });
}

/// Each writes a datum. (Waiters that readers keep out yield on any processor.)
fn sleep_as_writers() {
    let lock = RawRwLock::new();
    on_one_processor(|| {
        lock.lock_exclusive();
        sleep();
        lock.unlock_exclusive();
    });
}

fn meet() {
    let barrier = RawBarrier::new();
    on_one_processor(|| {
        barrier.wait(4);
    });
}

/// Lets one thread wake another again and again, which waits by `wait`.
fn wake_again_and_again(wake: impl Fn() + Sync, wait: impl Fn() + Sync) {
    keep_processors(1);
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                wait();
            }
        });
        loop {
            sleep();
            wake();
        }
    });
}

fn park() {
    let parker = RawParker::new();
    wake_again_and_again(|| parker.unpark(), || assert!(parker.park(None)));
}

fn notify() {
    let notify = RawNotify::new();
    wake_again_and_again(|| notify.notify_one(), || assert!(notify.wait(None)));
}

fn signal() {
    let (lock, changed, is_set) = (RawMutex::new(), RawCondvar::new(), AtomicBool::new(false));
    let set = || {
        lock.lock();
        is_set.store(true, Ordering::Relaxed);
        lock.unlock();
        changed.notify_one();
    };
    let take = || {
        lock.lock();
        while !is_set.swap(false, Ordering::Relaxed) {
            changed.wait(&lock, None);
        }
        lock.unlock();
    };
    wake_again_and_again(set, take);
}

/// As the preload does for calls of futex(2) by number.
fn ask_for_a_wait() {
    let word = 0_u32;
    keep_processors(1);
    prepare();
    on_one_processor(|| {
        assert!(!refuses_wait(&raw const word, WAIT, 0, core::ptr::null()));
    });
}

/// Each passes those that wait for one of the mutexes and have been woken.
fn take_two_in_turn() {
    let locks = [RawMutex::new(), RawMutex::new()];
    on_one_processor(|| {
        for lock in &locks {
            lock.lock();
            lock.unlock();
        }
    });
}

fn is_single() -> bool {
    let is_single = thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
    if is_single {
        println!("not tried: on one processor no thread asks");
    }
    is_single
}

#[test]
fn a_waiter_yields_before_it_sleeps() {
    assert_ended(libc::SIGSYS, of_yields(trap()), || {}, wait);
}

#[test]
fn a_waiter_whose_yields_are_refused_sleeps() {
    assert_ended(libc::SIGALRM, of_yields(refuse(libc::EPERM)), || {}, wait);
}

#[test]
fn a_program_that_forgoes_yields_makes_none() {
    assert_ended(libc::SIGALRM, of_yields(trap()), forgo_yields, wait);
}

#[test]
fn a_waiter_gives_the_processor_back_to_its_waker() {
    assert_ended(libc::SIGSYS, of_yields(trap()), || {}, pass_on);
}

#[test]
fn where_yields_are_refused_a_waiter_does_not_give_the_processor_back() {
    assert_ended(libc::SIGALRM, of_yields(refuse(libc::EPERM)), || {}, pass_on);
}

#[test]
fn where_yields_are_forgone_a_waiter_does_not_give_the_processor_back() {
    assert_ended(libc::SIGALRM, of_yields(trap()), forgo_yields, pass_on);
}

#[test]
fn where_yields_are_refused_two_threads_answer_each_other() {
    assert_ended(libc::SIGALRM, of_yields(refuse(libc::EPERM)), || {}, answer_each_other);
}

#[test]
fn where_yields_are_forgone_two_threads_answer_each_other() {
    assert_ended(libc::SIGALRM, of_yields(trap()), forgo_yields, answer_each_other);
}

#[test]
fn where_holders_yield_the_processor_time_is_asked_for() {
    if !is_single() {
        assert_ended(libc::SIGSYS, of_processor_time(trap()), || {}, take_turns);
    }
}

#[test]
fn where_the_processor_time_is_refused_locks_go_on() {
    let refused = of_processor_time(refuse(libc::EPERM));
    assert_ended(libc::SIGALRM, refused, || {}, take_turns);
}

#[test]
fn a_program_that_forgoes_yields_does_not_ask_for_processor_time() {
    assert_ended(libc::SIGALRM, of_processor_time(trap()), forgo_yields, take_turns);
}

#[test]
fn where_a_holder_stays_its_processor_time_is_asked_for() {
    if !is_single() {
        assert_ended(libc::SIGSYS, of_threads_times(trap()), || {}, compute_with_a_mutex);
    }
}

#[test]
fn where_a_holders_processor_time_is_refused_locks_go_on() {
    let refused = of_threads_times(refuse(libc::EPERM));
    assert_ended(libc::SIGALRM, refused, || {}, compute_with_a_mutex);
}

#[test]
fn a_program_that_forgoes_yields_does_not_ask_for_a_holders_processor_time() {
    assert_ended(libc::SIGALRM, of_threads_times(trap()), forgo_yields, compute_with_a_mutex);
}

#[test]
fn several_threads_are_woken_two_by_two() {
    assert_ended(libc::SIGSYS, of_wakes_of_two(trap()), || {}, read_together);
}

#[test]
fn where_a_wake_of_two_is_refused_threads_are_woken_one_by_one() {
    assert_ended(libc::SIGALRM, of_wakes_of_two(refuse(libc::EPERM)), || {}, read_together);
}

#[test]
fn a_program_that_forgoes_yields_wakes_threads_one_by_one() {
    assert_ended(libc::SIGALRM, of_wakes_of_two(trap()), forgo_yields, read_together);
}

#[test]
fn on_one_processor_waiters_yield() {
    let ways = [
        sleep_with_a_mutex,
        sleep_as_writers,
        meet,
        park,
        notify,
        signal,
        ask_for_a_wait,
        answer_each_other,
        take_two_in_turn,
    ];
    for way in ways {
        assert_ended(libc::SIGSYS, of_yields(trap()), || {}, way);
    }
}

#[test]
fn on_one_processor_waiters_whose_yields_are_refused_sleep() {
    let ways = [sleep_with_a_mutex, sleep_as_writers, meet, park, notify, signal, take_two_in_turn];
    for way in ways {
        assert_ended(libc::SIGALRM, of_yields(refuse(libc::EPERM)), || {}, way);
    }
}

#[test]
fn on_one_processor_waiters_that_forgo_yields_make_none() {
    let ways = [
        sleep_with_a_mutex,
        sleep_as_writers,
        meet,
        park,
        notify,
        signal,
        ask_for_a_wait,
        take_two_in_turn,
    ];
    for way in ways {
        assert_ended(libc::SIGALRM, of_yields(trap()), forgo_yields, way);
    }
}
