//! barrier: threads work for a given time and meet, round after round.

use std::cell::Cell;

use super::Table;
use crate::case::Case;
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::yardsticks::{Barrier, GlibcBarrier, Padded, SpinningBarrier};

pub const TABLE: &Table = &[
    #[cfg(simulated)]
    ("furwock", run::<crate::ours::Barrier>),
    ("glibc", run::<GlibcBarrier>),
    ("spinning", run::<SpinningBarrier>),
];

struct Meeting<B> {
    barrier: Padded<B>,
    /// How many rounds each thread has come to.
    rounds: Box<[Cell<u64>]>,
    /// The last round, once the first thread has chosen it.
    last: Cell<u64>,
}

/// The figures of one barrier.
pub fn run<B: Barrier>(case: &Case) -> Result<Figures, String> {
    let meeting = Meeting {
        barrier: Padded(B::new(case.threads)),
        rounds: (0..case.threads).map(|_| Cell::new(0)).collect(),
        last: Cell::new(u64::MAX),
    };
    let (mut figures, _) = contest::run(case, meeting, meet::<B>)?;
    let rounds = figures["ops_per_second"] / case.threads as f64;
    figures.insert("rounds_per_second".to_owned(), rounds);
    Ok(figures)
}

fn meet<B: Barrier>(seat: &mut Seat<Meeting<B>>) {
    let other_ns = seat.case().other_ns;
    let next = (seat.index + 1) % seat.case().threads;
    for round in 1.. {
        seat.work(other_ns);
        if seat.index == 0 && !seat.goes_on() {
            seat.shared().last.set(round);
        }
        seat.shared().rounds[seat.index].set(round);
        seat.waits("", || seat.shared().barrier.0.wait());
        // All have come to this round, and none can be past the next.
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
