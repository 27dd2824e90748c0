//! Waiters of rwlocks yield before they sleep, and mutexes whose holders yield ask for the
//! program's processor time, unless a sandbox forbids it or the program forgoes it. Seccomp filters
//! in children play the sandboxes.

mod common;
mod process;

use common::seccomp::{NUMBER, allow, argument, jump, live_under, load, refuse, trap};
use furwock::lock::{RawMutex, RawRwLock, forgo_yields};
use process::child;

const NO_SECCOMP: i32 = 77;

/// Asserts that `signal` ends a child that waits for ever under a filter that has `verdict` on
/// `sched_yield`. Unless it is to be killed for that call, an alarm ends it, after so long that it
/// would have made it.
#[track_caller]
fn assert_ended(signal: i32, verdict: libc::sock_filter, before: impl FnOnce()) {
    let wait = || {
        let filter = [
            load(NUMBER),
            jump(libc::BPF_JEQ, libc::SYS_sched_yield as u32, 0, 1),
            verdict,
            allow(),
        ];
        if live_under(&filter).is_err() {
            return NO_SECCOMP;
        }
        before();
        let lock = RawRwLock::new();
        lock.lock_exclusive();
        if signal == libc::SIGALRM {
            // SAFETY: no memory is involved, and no handler is set.
            unsafe { libc::alarm(1) };
        }
        lock.lock_shared();
        0
    };
    match child(wait).end() {
        NO_SECCOMP => println!("skipped: no filters here"),
        end => assert_eq!(end, -signal),
    }
}

#[test]
fn a_waiter_yields_before_it_sleeps() {
    assert_ended(libc::SIGSYS, trap(), || {});
}

#[test]
fn a_waiter_whose_yields_are_refused_sleeps() {
    assert_ended(libc::SIGALRM, refuse(libc::EPERM), || {});
}

#[test]
fn a_program_that_forgoes_yields_makes_none() {
    assert_ended(libc::SIGALRM, trap(), forgo_yields);
}

/// The same for the question how much processor time the program has used, of threads that yield
/// with a mutex for a second.
#[track_caller]
fn assert_ended_asking(signal: i32, verdict: libc::sock_filter, before: impl FnOnce()) {
    let take_turns = || {
        let filter = [
            load(NUMBER),
            jump(libc::BPF_JEQ, libc::SYS_clock_gettime as u32, 0, 3),
            load(argument(0)),
            jump(libc::BPF_JEQ, libc::CLOCK_PROCESS_CPUTIME_ID as u32, 0, 1),
            verdict,
            allow(),
        ];
        if live_under(&filter).is_err() {
            return NO_SECCOMP;
        }
        before();
        // SAFETY: no memory is involved, and no handler is set.
        unsafe { libc::alarm(1) };
        let lock = RawMutex::new();
        let take = || {
            loop {
                lock.lock();
                std::thread::yield_now();
                lock.unlock();
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(take);
            }
        });
        0
    };
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
        return println!("not tried: on one processor no thread asks");
    }
    match child(take_turns).end() {
        NO_SECCOMP => println!("skipped: no filters here"),
        end => assert_eq!(end, -signal),
    }
}

#[test]
fn where_holders_yield_the_programs_processor_time_is_asked_for() {
    assert_ended_asking(libc::SIGSYS, trap(), || {});
}

#[test]
fn where_the_processor_time_is_refused_locks_go_on() {
    assert_ended_asking(libc::SIGALRM, refuse(libc::EPERM), || {});
}

#[test]
fn a_program_that_forgoes_yields_is_not_asked_about() {
    assert_ended_asking(libc::SIGALRM, trap(), forgo_yields);
}
