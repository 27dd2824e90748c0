//! broadcast, after cond-perf of Molnar's requeue patch (2003): threads wait on a condition
//! variable, a broadcast wakes them all, and each must have the mutex before it waits again. An
//! operation is one thread's wake.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};
use machine::{kernel_wait, kernel_wake};

use super::Table;
use crate::case::Case;
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::yardsticks::{GlibcCondvar, Monitor, Padded, RequeueingCondvar};

pub const TABLE: &Table = &[
    #[cfg(simulated)]
    ("furwock", run::<crate::ours::Condvar>),
    ("glibc", run::<GlibcCondvar>),
    ("requeue", run::<RequeueingCondvar>),
];

struct Shared<M> {
    monitor: M,
    /// Under the mutex: which round it is, how many wait for its end (they keep the mutex from
    /// counting themselves until they wait), whether it is the last.
    round: Cell<u64>,
    waiting: Cell<usize>,
    stop: Cell<bool>,
    /// The first thread sleeps here until all others wait: 1 when they do.
    all_wait: Padded<AtomicU32>,
}

/// One thread broadcasts, all others wait.
fn run<M: Monitor>(case: &Case) -> Result<Figures, String> {
    let mut case = case.clone();
    case.threads += 1;
    let shared = Shared {
        monitor: M::new(case.threads),
        round: Cell::new(0),
        waiting: Cell::new(0),
        stop: Cell::new(false),
        all_wait: Padded(AtomicU32::new(0)),
    };
    // A thread that isn't woken is a deadlock, which the machine reports.
    let (mut figures, _) = contest::run(&case, shared, operate::<M>)?;
    let waiters = (case.threads - 1) as f64;
    figures.insert("seconds_per_round".to_owned(), waiters / figures["ops_per_second"]);
    Ok(figures)
}

fn operate<M: Monitor>(seat: &mut Seat<Shared<M>>) {
    if seat.index == 0 { broadcast(seat) } else { wait(seat) }
}

fn broadcast<M: Monitor>(seat: &mut Seat<Shared<M>>) {
    loop {
        let shared = seat.shared();
        while shared.all_wait.0.load(Ordering::Acquire) == 0 {
            kernel_wait(&shared.all_wait.0, 0, None);
        }
        shared.all_wait.0.store(0, Ordering::Relaxed);
        let goes_on = seat.goes_on();
        shared.monitor.lock();
        shared.waiting.set(0);
        shared.round.set(shared.round.get() + 1);
        shared.stop.set(!goes_on);
        shared.monitor.unlock();
        shared.monitor.broadcast();
        if !goes_on {
            return;
        }
    }
}

fn wait<M: Monitor>(seat: &mut Seat<Shared<M>>) {
    let others = seat.case().threads - 1;
    let shared = seat.shared();
    shared.monitor.lock();
    loop {
        let seen = shared.round.get();
        shared.waiting.set(shared.waiting.get() + 1);
        if shared.waiting.get() == others {
            shared.all_wait.0.store(1, Ordering::Release);
            kernel_wake(&shared.all_wait.0, 1);
        }
        while shared.round.get() == seen {
            shared.monitor.wait();
        }
        if shared.round.get() != seen + 1 {
            seat.faulted();
        }
        seat.did_one();
        if shared.stop.get() {
            break;
        }
    }
    shared.monitor.unlock();
}
