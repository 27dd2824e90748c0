//! What loom checks: each file one property in a small scenario, and the mutants it must reject.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p furwock --lib models`. loom tries every
//! schedule up to a number of preemptions, and every value that a load may return under C11's
//! rules. A lost wakeup shows as a deadlock, a missing ordering as a data race on a cell.

mod any;
mod barrier;
mod bucket_lock;
mod condvar;
mod ended;
mod foreign;
mod forked;
mod interrupt;
mod mutex;
mod once;
mod park;
mod parker;
mod pi_condvar;
mod requeue;
mod robust_mutex;
mod robust_rwlock;
mod rwlock;
mod rwlock_bias;
mod semaphore;
mod task;
mod task_locks;
mod wait_wake;

use crate::prim::mutant::{self, Mutant};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Two words in buckets of their own: a model's table has two, and bit 6 of the address chooses.
#[repr(C, align(128))]
#[derive(Default)]
struct Apart<A, B> {
    a: A,
    _gap: Gap,
    b: B,
}

#[derive(Default)]
#[repr(align(64))]
struct Gap;

/// Explores `scenario`, with at most `preemptions` in a schedule.
fn explore(preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(scenario);
}

/// What loom says where it can't follow a model, whatever the code does.
const LOOMS_OWN: [&str; 3] = ["deterministic", "left != right", "loom internal bug"];

/// Fails unless exploring `scenario` fails with `mutant` in the code.
#[track_caller]
fn rejects(mutant: Mutant, preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    mutant::choose(Some(mutant));
    let result = catch_unwind(AssertUnwindSafe(|| explore(preemptions, scenario)));
    mutant::choose(None);
    let Err(reason) = result else {
        panic!("{mutant:?} passed the model: the model proves nothing");
    };
    let said = reason.downcast_ref::<String>().map(String::as_str);
    let said = said.or(reason.downcast_ref::<&str>().copied()).unwrap_or_default();
    let looms = LOOMS_OWN.iter().any(|own| said.contains(own));
    assert!(!looms, "{mutant:?}: loom gave up, which proves nothing: {said}");
}
