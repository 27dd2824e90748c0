//! rwlock: threads read or, drawn at random, write, with work of a given length inside the lock and
//! outside of it.

use machine::atomic::{AtomicU64, Ordering};

use super::Table;
use crate::case::Case;
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::yardsticks::{BrokenReadWriteLock, GlibcReadWriteLock, ReadWriteLock, StdReadWriteLock};

pub const TABLE: &Table = &[
    #[cfg(simulated)]
    ("furwock", run::<crate::ours::RwLock>),
    ("glibc", run::<GlibcReadWriteLock>),
    ("std", run::<StdReadWriteLock>),
    ("broken", run::<BrokenReadWriteLock>),
];

/// The lock, and what it protects: writes begun and ended, equal while no writer is inside.
#[repr(align(128))]
struct Guarded<L> {
    lock: L,
    begun: AtomicU64,
    ended: AtomicU64,
}

fn run<L: ReadWriteLock>(case: &Case) -> Result<Figures, String> {
    let guarded =
        Guarded { lock: L::new(case.threads), begun: AtomicU64::new(0), ended: AtomicU64::new(0) };
    contest::run(case, guarded, operate::<L>).map(|(figures, _)| figures)
}

fn operate<L: ReadWriteLock>(seat: &mut Seat<Guarded<L>>) {
    let other_ns = seat.case().other_ns;
    while seat.goes_on() {
        if seat.writes() {
            write(seat);
        } else {
            read(seat);
        }
        seat.did_one();
        seat.work(other_ns);
    }
}

fn read<L: ReadWriteLock>(seat: &mut Seat<Guarded<L>>) {
    let critical_ns = seat.case().critical_ns;
    seat.waits("read_", || seat.shared().lock.read());
    let before = seat.shared().begun.load(Ordering::Relaxed);
    let settled = seat.shared().ended.load(Ordering::Relaxed) == before;
    seat.work(critical_ns);
    if !settled || seat.shared().begun.load(Ordering::Relaxed) != before {
        seat.faulted();
    }
    seat.shared().lock.end_read();
}

fn write<L: ReadWriteLock>(seat: &mut Seat<Guarded<L>>) {
    let critical_ns = seat.case().critical_ns;
    seat.waits("write_", || seat.shared().lock.write());
    let before = seat.shared().begun.load(Ordering::Relaxed);
    let settled = seat.shared().ended.load(Ordering::Relaxed) == before;
    seat.shared().begun.store(before + 1, Ordering::Relaxed);
    seat.work(critical_ns);
    let guarded = seat.shared();
    let alone = guarded.begun.load(Ordering::Relaxed) == before + 1
        && guarded.ended.load(Ordering::Relaxed) == before;
    guarded.ended.store(before + 1, Ordering::Relaxed);
    if !(settled && alone) {
        seat.faulted();
    }
    seat.shared().lock.end_write();
}
