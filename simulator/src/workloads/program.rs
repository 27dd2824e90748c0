//! program: what LiTL's programs are taken for. Threads take turns at one mutex, or wait at
//! PARSEC's barrier, with exponentially distributed work between; the contestants are locks as LiTL
//! interposes them, under its names. It serves the validation, and belongs to no grid.

use std::cell::Cell;

use machine::atomic::{AtomicU64, Ordering};

use super::Table;
use crate::case::{Case, Shape};
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::yardsticks::*;

/// The workload's name.
pub const NAME: &str = "program";

pub const TABLE: &Table = &[
    ("pthread", run::<OnOneLine<GlibcMutex>>),
    ("pthreadadapt", run::<OnOneLine<GlibcAdaptiveMutex>>),
    ("mutexee", run::<Interposed<LitlMutexee>>),
    ("ttas", run::<Interposed<TestAndSet>>),
    ("ticket", run::<Interposed<Ticket>>),
    ("backoff", run::<Interposed<LitlBackoff>>),
    ("mcs_spin", run::<Interposed<Mcs<Spinning>>>),
    ("mcs_stp", run::<Interposed<Mcs<SpinThenParkAlwaysWoken>>>),
    ("clh_spin", run_without_try::<Interposed<Clh>>),
    ("malth_spin", run::<Interposed<Malthusian<Spinning>>>),
    ("malth_stp", run::<Interposed<Malthusian<SpinThenParkAlwaysWoken>>>),
    ("c-bo-mcs_spin", run::<Interposed<CohortLock<LitlBackoff>>>),
    ("hmcs", run::<Interposed<HierarchicalMcs>>),
];

fn run<L: TryLock>(case: &Case) -> Result<Figures, String> {
    match case.shape {
        Shape::Mutex => contend::<L>(case),
        Shape::Barrier => meet::<L>(case),
    }
}

/// For a lock that can't be tried.
fn run_without_try<L: Lock>(case: &Case) -> Result<Figures, String> {
    match case.shape {
        Shape::Mutex => contend::<L>(case),
        Shape::Barrier => Err("the barrier tries its mutex, and this one can't".to_owned()),
    }
}

struct Guarded<L> {
    lock: L,
    /// Read before the work and written after it, at no cost.
    counter: Cell<u64>,
    /// How often any thread was inside.
    total: Cell<u64>,
    lines: Box<[Padded<AtomicU64>]>,
}

fn contend<L: Lock>(case: &Case) -> Result<Figures, String> {
    let guarded = Guarded {
        lock: L::new(case.threads),
        counter: Cell::new(0),
        total: Cell::new(0),
        lines: (0..case.shared_lines).map(|_| Padded::default()).collect(),
    };
    let (figures, contest) = contest::run(case, guarded, take_turns::<L>)?;
    match contest.shared.counter.get() == contest.shared.total.get() {
        true => Ok(figures),
        false => Err("operations were lost: it did not exclude".to_owned()),
    }
}

fn take_turns<L: Lock>(seat: &mut Seat<Guarded<L>>) {
    let (critical_ns, other_ns) = (seat.case().critical_ns, seat.case().other_ns);
    while seat.goes_on() {
        seat.waits("", || seat.shared().lock.lock());
        let seen = seat.shared().counter.get();
        for line in &seat.shared().lines {
            let value = line.0.load(Ordering::Relaxed);
            line.0.store(value + 1, Ordering::Relaxed);
        }
        seat.work(critical_ns);
        let guarded = seat.shared();
        guarded.counter.set(seen + 1);
        guarded.total.set(guarded.total.get() + 1);
        guarded.lock.unlock();
        seat.did_one();
        seat.work_as_comes(other_ns);
    }
}

struct Meeting<L> {
    barrier: ParsecBarrier<L>,
    rounds: Box<[Cell<u64>]>,
    last: Cell<u64>,
}

fn meet<L: TryLock>(case: &Case) -> Result<Figures, String> {
    let meeting = Meeting {
        barrier: ParsecBarrier::<L>::new(case.threads),
        rounds: (0..case.threads).map(|_| Cell::new(0)).collect(),
        last: Cell::new(u64::MAX),
    };
    contest::run(case, meeting, work_and_meet::<L>).map(|(figures, _)| figures)
}

fn work_and_meet<L: TryLock>(seat: &mut Seat<Meeting<L>>) {
    let other_ns = seat.case().other_ns;
    let next = (seat.index + 1) % seat.case().threads;
    for round in 1.. {
        seat.work(other_ns);
        if seat.index == 0 && !seat.goes_on() {
            seat.shared().last.set(round);
        }
        seat.shared().rounds[seat.index].set(round);
        seat.waits("", || seat.shared().barrier.wait());
        let neighbour = seat.shared().rounds[next].get();
        if !(round..=round + 1).contains(&neighbour) {
            seat.faulted();
        }
        seat.did_one();
        if seat.shared().last.get() <= round {
            break;
        }
    }
}
