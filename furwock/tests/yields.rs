//! Waiters of rwlocks yield before they sleep, unless a sandbox forbids it or the program forgoes
//! it. Seccomp filters in children play the sandboxes.

mod common;
mod process;

use common::seccomp::{NUMBER, allow, jump, live_under, load, refuse, trap};
use furwock::lock::{RawRwLock, forgo_yields};
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
