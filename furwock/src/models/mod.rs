//! What loom checks: each file one property in a small scenario, and the mutants it must reject.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p furwock --lib models`. loom tries every
//! schedule up to a number of preemptions, and every value that a load may return under C11's
//! rules. A lost wakeup shows as a deadlock, a missing ordering as a data race on a cell.

mod any;
mod bucket_lock;
mod condvar;
mod forked;
mod interrupt;
mod mutex;
mod park;
mod pi_condvar;
mod requeue;
mod robust_mutex;
mod robust_rwlock;
mod rwlock;
mod rwlock_bias;
mod task;
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
    if let Ok(v) = std::env::var("PB") { builder.preemption_bound = Some(v.parse().unwrap()); }
    let n = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    struct P(std::sync::Arc<std::sync::atomic::AtomicUsize>, std::time::Instant);
    impl Drop for P { fn drop(&mut self) { std::println!("EXPLORED {} in {:?}", self.0.load(std::sync::atomic::Ordering::SeqCst), self.1.elapsed()); } }
    let _p = P(n.clone(), std::time::Instant::now());
    builder.check(move || { n.fetch_add(1, std::sync::atomic::Ordering::SeqCst); scenario() });
}

/// Fails unless exploring `scenario` fails with `mutant` in the code.
#[track_caller]
fn rejects(mutant: Mutant, preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    mutant::choose(Some(mutant));
    let result = catch_unwind(AssertUnwindSafe(|| explore(preemptions, scenario)));
    mutant::choose(None);
    if let Err(e) = &result {
        std::println!("REJECTED {:?}", e.downcast_ref::<String>().map(|s| &s[..s.len().min(300)]));
        std::println!("REJECTED {:?}", e.downcast_ref::<&str>());
    }
    assert!(result.is_err(), "{mutant:?} passed the model: the model proves nothing");
}
