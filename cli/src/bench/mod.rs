//! `furwock bench`: furwock's locks against other implementations, in one interleaved run.
//!
//! A benchmark of threads that contend is a list of cases, each a workload with parameters, and of
//! the figures that become tables (`contention`); `mutex` and `rwlock` say which. `pair` measures
//! one thread alone. All share the roster of contestants and what sets their processes apart.

pub mod arguments;
mod case;
mod contention;
mod contestant;
mod figure_table;
mod mutex;
mod pair;
mod roster;
mod rwlock;
mod standing;

use crate::failure::Failure;
use arguments::{Bench, BenchArguments};

/// Returns the exit status.
pub fn bench(arguments: &BenchArguments) -> Result<i32, Failure> {
    match &arguments.bench {
        Bench::Mutex(arguments) => contention::run(&mutex::benchmark(arguments), &arguments.common),
        Bench::Rwlock(arguments) => {
            contention::run(&rwlock::benchmark(arguments), &arguments.common)
        }
        Bench::Pair(arguments) => pair::run(arguments),
    }
}
