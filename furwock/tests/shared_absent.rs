//! Kernels that lack a call, played by seccomp filters in children: a clear error where there is no
//! other way, and no change elsewhere.

mod common;
mod process;

use common::seccomp::{NUMBER, allow, argument, jump, live_under, load, refuse};
use common::{bounded, eventually};
use furwock::Deadline;
use furwock::shared::{
    Awaited, Error, NumaWord, Scope, Waited, WaitedAny, requeue, wait, wait_any, wait64, wake,
    wake_all, wake64,
};
use process::{Shared, child, shared};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

const FUTEX_WAITV: u32 = libc::SYS_futex_waitv as u32;
const FUTEX_WAKE: u32 = FUTEX_WAITV + 5;
const FUTEX_REQUEUE: u32 = FUTEX_WAITV + 7;

const EQUAL: u32 = libc::BPF_JEQ;
const AT_LEAST: u32 = libc::BPF_JGE;
const ABOVE: u32 = libc::BPF_JGT;

/// A kernel before 5.16, if `errno` is ENOSYS, or else a container's filter that knows no such
/// calls.
fn without_new_calls(errno: i32) -> bool {
    let filter = [
        load(NUMBER),
        jump(EQUAL, FUTEX_WAITV, 2, 0),
        jump(AT_LEAST, FUTEX_WAKE, 0, 2),
        jump(ABOVE, FUTEX_REQUEUE, 1, 0),
        refuse(errno),
        allow(),
    ];
    live_under(&filter).is_ok()
}

/// A kernel from 5.16 to 6.6: it has `futex_waitv`, which refuses all flags here, and not the rest
/// of futex2.
fn without_futex2() -> bool {
    let filter = [
        load(NUMBER),
        jump(EQUAL, FUTEX_WAITV, 2, 0),
        jump(AT_LEAST, FUTEX_WAKE, 0, 3),
        jump(ABOVE, FUTEX_REQUEUE, 2, 1),
        refuse(libc::EINVAL),
        refuse(libc::ENOSYS),
        allow(),
    ];
    live_under(&filter).is_ok()
}

/// A kernel from 6.7 to 6.15: it has futex2 without nodes and memory policies.
fn without_new_flags() -> bool {
    let filter = [
        load(NUMBER),
        jump(AT_LEAST, FUTEX_WAKE, 0, 4),
        jump(AT_LEAST, FUTEX_REQUEUE, 3, 0),
        // The flags of `futex_wake` and `futex_wait`.
        load(argument(3)),
        jump(libc::BPF_JSET, 0x0c, 0, 1),
        refuse(libc::EINVAL),
        allow(),
    ];
    live_under(&filter).is_ok()
}

struct Words {
    plain: AtomicU32,
    other: AtomicU32,
    wide: AtomicU64,
    numa: NumaWord,
}

fn words() -> Shared<Words> {
    shared()
}

/// The number of the first of `checks` that fails, or 0.
fn first_failure(checks: &[bool]) -> i32 {
    checks.iter().position(|passed| !passed).map_or(0, |index| index as i32 + 1)
}

const fn unsupported(call: &'static str, since: &'static str) -> Error {
    Error::Unsupported { call, since }
}

const WAITV: Error = unsupported("futex_waitv", "Linux 5.16");
const NUMA: Error = unsupported("FUTEX2_NUMA", "Linux 6.16");
const MPOL: Error = unsupported("FUTEX2_MPOL", "Linux 6.16");
const WAKE: Error = unsupported("futex_wake", "Linux 6.7");
const WAIT: Error = unsupported("futex_wait", "Linux 6.7");
const REQUEUE: Error = unsupported("futex_requeue", "Linux 6.7");

#[test]
fn a_missing_call_is_named() {
    bounded(|| {
        for errno in [libc::ENOSYS, libc::EPERM] {
            let words = words();
            let mut old = child(|| {
                let checks = |words: &Words| {
                    [
                        wait_any(&[Awaited::new(&words.plain, 0)], None) == Err(WAITV),
                        wait64(&words.wide, 0, None) == Err(WAITV),
                        wait64(&words.wide, 1, None) == Ok(Waited::Mismatch),
                        wake64(&words.wide, 1) == Ok(0),
                        wake(&words.numa, 1) == Err(WAKE),
                        wait(&words.numa, 0, None) == Err(WAIT),
                        wait(&words.numa, 1, None) == Ok(Waited::Mismatch),
                        requeue(&words.numa, &words.numa, 0, 1) == Err(REQUEUE),
                        wake(&Scope::SHARED.by_memory_policy().of(&words.plain), 1) == Err(WAKE),
                    ]
                };
                if !without_new_calls(errno) {
                    return 100;
                }
                first_failure(&checks(&words)) * 16 + first_failure(&checks(&words))
            });
            assert_eq!(old.end(), 0, "16 times the check that failed, or the check again");
        }
    });
}

#[test]
fn plain_words_need_no_new_call() {
    bounded(|| {
        let words = words();
        let mut old = child(|| {
            if !without_new_calls(libc::ENOSYS) {
                return 100;
            }
            let deadline = Deadline::after(Duration::from_millis(1));
            let checks = [
                wait(&words.plain, 1, None) == Ok(Waited::Mismatch),
                wait(&words.plain, 0, Some(&deadline)) == Ok(Waited::TimedOut),
                wait(&words.plain, 0, None) == Ok(Waited::Woken),
            ];
            first_failure(&checks)
        });
        eventually("moved", || requeue(&words.plain, &words.other, 0, 1).unwrap().moved == 1);
        // It may have been the wait with the deadline.
        eventually("woken", || {
            requeue(&words.plain, &words.other, 0, 1).unwrap();
            wake_all(&words.other).unwrap();
            words.plain.load(Ordering::Relaxed) == 0 && old.has_ended()
        });
        assert!([0, 2].contains(&old.end()));
    });
}

#[test]
fn a_64_bit_wake_is_an_old_call() {
    bounded(|| {
        let words = words();
        let mut waiter =
            child(|| if wait64(&words.wide, 0, None) == Ok(Waited::Woken) { 0 } else { 1 });
        let mut old = child(|| {
            if !without_new_calls(libc::ENOSYS) {
                return 100;
            }
            loop {
                match wake64(&words.wide, 1) {
                    Ok(0) => std::thread::yield_now(),
                    Ok(1) => return 0,
                    _ => return 1,
                }
            }
        });
        assert_eq!((waiter.end(), old.end()), (0, 0));
    });
}

#[test]
fn a_missing_flag_is_named() {
    bounded(|| {
        let words = words();
        let mut old = child(|| {
            if !without_new_flags() {
                return 100;
            }
            let by_policy = Scope::SHARED.by_memory_policy().of(&words.plain);
            let checks = [
                wake(&words.numa, 1) == Err(NUMA),
                wait(&words.numa, 0, None) == Err(NUMA),
                wake(&by_policy, 1) == Err(MPOL),
                wait(&by_policy, 0, None) == Err(MPOL),
                wake(&words.plain, 1) == Ok(0),
            ];
            first_failure(&checks)
        });
        assert_eq!(old.end(), 0, "the number of the check that failed");
    });
}

#[test]
fn a_flag_that_an_older_wait_refuses_is_named() {
    bounded(|| {
        let words = words();
        let mut old = child(|| {
            if !without_futex2() {
                return 100;
            }
            let by_policy = Scope::SHARED.by_memory_policy();
            let checks = [
                wait_any(&[Awaited::new(&words.numa, 0)], None) == Err(NUMA),
                wait_any(&[Awaited::new(&by_policy.of(&words.plain), 0)], None) == Err(MPOL),
                wait64(&by_policy.of(&words.wide), 0, None) == Err(MPOL),
                wait(&words.numa, 0, None) == Err(WAIT),
            ];
            first_failure(&checks)
        });
        assert_eq!(old.end(), 0, "the number of the check that failed");
    });
}

/// A filter is its thread's own: other threads can still make the calls that it refuses.
#[test]
fn one_threads_filter_is_not_anothers() {
    bounded(|| {
        let past = Deadline::after(Duration::ZERO);
        let by_any = |word| wait_any(&[Awaited::new(word, 0)], Some(&past));
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let filtered = scope.spawn(|| {
                assert!(without_new_calls(libc::ENOSYS));
                assert_eq!(by_any(&word), Err(WAITV));
            });
            filtered.join().unwrap();
        });
        assert_eq!(by_any(&word), Ok(WaitedAny::TimedOut));
        assert_eq!(wake(&NumaWord::new(0), 1), Ok(0));
    });
}
