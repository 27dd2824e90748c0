//! program: what LiTL's programs are taken for. Threads take turns at one mutex, or wait at
//! PARSEC's barrier, with exponentially distributed work between; the contestants are locks as LiTL
//! interposes them, under its names. It serves the validation, and belongs to no grid.

use std::cell::Cell;

use machine::atomic::{AtomicU64, Ordering};

use super::{Table, barrier};
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
        Shape::Barrier => barrier::run::<ParsecBarrier<L>>(case),
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
