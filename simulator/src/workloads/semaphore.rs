//! semaphore: threads share a semaphore's permits, with work of a given length with a permit and
//! without.

use std::cell::Cell;

use super::Table;
use crate::case::Case;
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::yardsticks::{GlibcSemaphore, Padded, Semaphore};

pub const TABLE: &Table = &[
    #[cfg(simulated)]
    ("furwock", run::<crate::ours::Semaphore>),
    ("glibc", run::<GlibcSemaphore>),
];

struct Guarded<S> {
    semaphore: Padded<S>,
    /// How many threads have a permit.
    inside: Cell<u32>,
}

fn run<S: Semaphore>(case: &Case) -> Result<Figures, String> {
    let guarded = Guarded { semaphore: Padded(S::new(case.permits)), inside: Cell::new(0) };
    contest::run(case, guarded, operate::<S>).map(|(figures, _)| figures)
}

fn operate<S: Semaphore>(seat: &mut Seat<Guarded<S>>) {
    let case = seat.case().clone();
    while seat.goes_on() {
        seat.waits("", || seat.shared().semaphore.0.acquire());
        let inside = &seat.shared().inside;
        inside.set(inside.get() + 1);
        if inside.get() > case.permits {
            seat.faulted();
        }
        seat.work(case.critical_ns);
        let inside = &seat.shared().inside;
        inside.set(inside.get() - 1);
        seat.shared().semaphore.0.release();
        seat.did_one();
        seat.work(case.other_ns);
    }
}
