//! mutex: threads take turns at one lock, with work of a given length inside and outside of it.

use std::cell::Cell;

use machine::atomic::{AtomicU64, Ordering};

use super::{Table, locks};
use crate::case::Case;
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::yardsticks::{Lock, Padded};

pub const TABLE: &Table = locks!(run);

/// The lock and what it protects, on the same line as in a program.
#[repr(align(128))]
struct Guarded<L> {
    lock: L,
    /// Read before the work and written after it: if another thread gets in, its count is lost.
    /// It costs nothing: it lies on the lock's line, which the lock has just fetched and the
    /// release, right after the write, fetches in any case; the write waits in the store buffer.
    counter: Cell<u64>,
    /// More data that the lock protects.
    lines: Box<[Padded<AtomicU64>]>,
}

fn run<L: Lock>(case: &Case) -> Result<Figures, String> {
    let guarded = Guarded {
        lock: L::new(case.threads),
        counter: Cell::new(0),
        lines: (0..case.shared_lines).map(|_| Padded::default()).collect(),
    };
    let (figures, contest) = contest::run(case, (guarded, Total::default()), operate::<L>)?;
    let (guarded, total) = &contest.shared;
    check(total.get(), guarded.counter.get())?;
    Ok(figures)
}

/// How often any thread was inside, the warm-up included.
type Total = Cell<u64>;

fn operate<L: Lock>(seat: &mut Seat<(Guarded<L>, Total)>) {
    let (critical_ns, other_ns) = (seat.case().critical_ns, seat.case().other_ns);
    while seat.goes_on() {
        seat.waits("", || seat.shared().0.lock.lock());
        let seen = seat.shared().0.counter.get();
        for line in &seat.shared().0.lines {
            let value = line.0.load(Ordering::Relaxed);
            line.0.store(value + 1, Ordering::Relaxed);
        }
        seat.work(critical_ns);
        // No other simulated thread runs between these two.
        seat.shared().0.counter.set(seen + 1);
        let total = &seat.shared().1;
        total.set(total.get() + 1);
        seat.shared().0.lock.unlock();
        seat.did_one();
        seat.work(other_ns);
    }
}

fn check(total: u64, counter: u64) -> Result<(), String> {
    if total == counter {
        Ok(())
    } else {
        Err(format!("{total} operations left a count of {counter}: it did not exclude"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_count_that_lost_operations() {
        assert!(check(5, 5).is_ok());
        assert!(check(5, 4).is_err());
    }
}
