//! table, after `perf bench futex hash`: each thread waits on its own words in turn, with a value
//! that they don't hold, so that only the way into the table of wait queues and back is measured.

use machine::atomic::AtomicU32;

use super::Table;
use crate::case::Case;
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::stage;
use crate::yardsticks::{KernelTable, TableShape, VALUE, WaitTable};

pub const TABLE: &Table = &[
    #[cfg(simulated)]
    ("furwock", run::<crate::ours::WaitTable>),
    ("kernel-256", run::<Until2013>),
    ("kernel-256-each-cpu", run::<Since2014>),
];

struct Until2013(KernelTable);

impl WaitTable for Until2013 {
    fn new(processors: usize) -> Self {
        Until2013(KernelTable::new(TableShape::Buckets256, processors))
    }

    fn wait(&self, name: u64, word: &AtomicU32) -> u32 {
        self.0.mismatched_wait(name, word)
    }
}

struct Since2014(KernelTable);

impl WaitTable for Since2014 {
    fn new(processors: usize) -> Self {
        Since2014(KernelTable::new(TableShape::Buckets256EachCpu, processors))
    }

    fn wait(&self, name: u64, word: &AtomicU32) -> u32 {
        self.0.mismatched_wait(name, word)
    }
}

struct Shared<W> {
    table: W,
    words: Box<[Box<[AtomicU32]>]>,
}

fn run<W: WaitTable>(case: &Case) -> Result<Figures, String> {
    let words = |_| (0..case.words).map(|_| AtomicU32::new(VALUE)).collect();
    let shared = Shared {
        table: W::new(stage::processors(case)?),
        words: (0..case.threads).map(words).collect(),
    };
    contest::run(case, shared, operate::<W>).map(|(figures, _)| figures)
}

fn operate<W: WaitTable>(seat: &mut Seat<Shared<W>>) {
    let words = seat.case().words;
    loop {
        for number in 0..words {
            if !seat.goes_on() {
                return;
            }
            let shared = seat.shared();
            let name = (seat.index * words + number) as u64;
            if shared.table.wait(name, &shared.words[seat.index][number]) != VALUE {
                seat.faulted();
            }
            seat.did_one();
        }
    }
}
