//! furwock's futex(2) and futex_waitv(2) with operands that no sane caller gives.
//!
//! `HOSTILE_CASES` sets how many random cases there are, `HOSTILE_SEED` their seed.

use furwock_conformance::differential::{Futex, FutexCall, Kernel, Library, SystemCall, WaitvCall};
use furwock_conformance::hostile::{Case, Failure, What, check, grid, random};
use furwock_conformance::seeds::{number, seed};

const CASES: u64 = 150_000;

fn random_cases() -> Vec<Case> {
    let (seed, count) = (seed("HOSTILE_SEED"), number("HOSTILE_CASES").unwrap_or(CASES));
    println!("{count} random cases of seed {seed}");
    random(seed, count as usize)
}

fn agree(other: &'static dyn Futex, cases: &[Case]) {
    let failures = check(other, cases, 20);
    let list: Vec<_> = failures.iter().map(Failure::to_string).collect();
    let count = cases.len();
    assert!(list.is_empty(), "of {count} cases, these fail:\n  {}", list.join("\n  "));
    println!("{count} cases");
}

#[test]
fn the_kernel_agrees_with_itself() {
    agree(&Kernel, &grid());
    agree(&Kernel, &random(1, 10_000));
}

#[test]
fn every_operation_at_every_spot_as_a_system_call() {
    agree(&SystemCall, &grid());
}

#[test]
fn every_operation_at_every_spot_as_a_library() {
    agree(&Library, &grid());
}

#[test]
fn random_operands_as_a_system_call() {
    agree(&SystemCall, &random_cases());
}

#[test]
fn random_operands_as_a_library() {
    agree(&Library, &random_cases());
}

/// It reads the word itself, and takes any count.
struct Careless;

impl Futex for Careless {
    fn name(&self) -> &'static str {
        "careless"
    }

    unsafe fn futex(&self, mut call: FutexCall) -> Result<i64, i32> {
        let FutexCall { uaddr, op, val, .. } = call;
        let wait = op == libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: that it isn't is the point.
        if wait && uaddr.is_aligned() && unsafe { uaddr.read_volatile() } != val {
            return Err(libc::EAGAIN);
        }
        let requeue = op == libc::FUTEX_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
        if requeue {
            call.val = val & i32::MAX as u32;
        }
        // SAFETY: by the caller's promise.
        unsafe { Kernel.futex(call) }
    }

    unsafe fn waitv(&self, call: WaitvCall) -> Result<i64, i32> {
        // SAFETY: by the caller's promise.
        unsafe { Kernel.waitv(call) }
    }
}

#[test]
fn a_crash_and_a_missed_check_are_found() {
    let whats = |cases: &[Case]| -> Vec<_> {
        check(&Careless, cases, 40).iter().map(|failure| failure.what).collect()
    };
    assert!(whats(&grid()).contains(&What::Died(libc::SIGSEGV, "careless")));
    let missed = |what: &What| matches!(what, What::Differs([Err(libc::EINVAL), Ok(0)]));
    assert!(whats(&random(1, 20_000)).iter().any(missed));
}
