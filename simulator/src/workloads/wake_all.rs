//! wake-all: threads sleep, and one thread wakes all of them at once. An operation is one thread's
//! wake; a round ends when the last is awake.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};
use machine::{kernel_wait, kernel_wake};

use super::Table;
use crate::case::Case;
use crate::contest::{self, Seat};
use crate::figures::Figures;
use crate::stage;
use crate::yardsticks::{Padded, Sleepers};

pub const TABLE: &Table = &[
    #[cfg(simulated)]
    ("furwock", run::<crate::ours::Sleepers>),
    ("one-word", run::<OneWord>),
    ("word-each", run::<WordEach>),
];

/// All sleep on one word, and one call wakes them.
struct OneWord(Padded<AtomicU32>);

impl Sleepers for OneWord {
    fn new(_threads: usize) -> Self {
        OneWord(Padded(AtomicU32::new(0)))
    }

    fn sleep(&self, _index: usize, round: u32) {
        while self.0.0.load(Ordering::Acquire) == round {
            kernel_wait(&self.0.0, round, None);
        }
    }

    fn wake_all(&self, round: u32) {
        self.0.0.store(round + 1, Ordering::Release);
        kernel_wake(&self.0.0, usize::MAX);
    }
}

/// Each sleeps on a word of its own, and is woken by a call of its own.
struct WordEach(Box<[Padded<AtomicU32>]>);

impl Sleepers for WordEach {
    fn new(threads: usize) -> Self {
        WordEach((0..threads).map(|_| Padded::default()).collect())
    }

    fn sleep(&self, index: usize, round: u32) {
        while self.0[index].0.load(Ordering::Acquire) == round {
            kernel_wait(&self.0[index].0, round, None);
        }
    }

    fn wake_all(&self, round: u32) {
        // The first is the waker's.
        for word in &self.0[1..] {
            word.0.store(round + 1, Ordering::Release);
            kernel_wake(&word.0, 1);
        }
    }
}

struct Shared<B> {
    bed: B,
    /// Sleepers that have come to bed for this round, and those that have got up from the last.
    abed: Cell<usize>,
    up: Cell<usize>,
    /// The first thread sleeps here until the last sleeper is up.
    all_up: Padded<AtomicU32>,
    stop: Cell<bool>,
    /// Of all rounds that were measured: until the waker was done, and until all were up.
    waker_ns: Cell<u64>,
    up_ns: Cell<u64>,
    rounds: Cell<u64>,
}

fn run<B: Sleepers>(case: &Case) -> Result<Figures, String> {
    let mut case = case.clone();
    case.threads += 1;
    let shared = Shared {
        bed: B::new(case.threads),
        abed: Cell::new(0),
        up: Cell::new(0),
        all_up: Padded(AtomicU32::new(0)),
        stop: Cell::new(false),
        waker_ns: Cell::new(0),
        up_ns: Cell::new(0),
        rounds: Cell::new(0),
    };
    let (mut figures, contest) = contest::run(&case, shared, operate::<B>)?;
    let rounds = contest.shared.rounds.get().max(1) as f64;
    let each = |sum: &Cell<u64>| sum.get() as f64 / rounds / 1e9;
    figures.insert("wake_s".to_owned(), each(&contest.shared.waker_ns));
    figures.insert("awake_s".to_owned(), each(&contest.shared.up_ns));
    Ok(figures)
}

fn operate<B: Sleepers>(seat: &mut Seat<Shared<B>>) {
    if seat.index == 0 { wake(seat) } else { sleep(seat) }
}

/// Long enough for all to fall asleep, and for their processors to halt.
const LULL_NS: u64 = 50_000;

fn wake<B: Sleepers>(seat: &mut Seat<Shared<B>>) {
    let sleepers = seat.case().threads - 1;
    for round in 0.. {
        while seat.shared().abed.get() < sleepers {
            machine::nap_ns(LULL_NS);
        }
        machine::nap_ns(LULL_NS);
        let goes_on = seat.goes_on();
        let shared = seat.shared();
        shared.stop.set(!goes_on);
        shared.abed.set(0);
        shared.up.set(0);
        shared.all_up.0.store(0, Ordering::Relaxed);
        let start = stage::time_ns();
        shared.bed.wake_all(round);
        let woken = stage::time_ns();
        while shared.all_up.0.load(Ordering::Acquire) == 0 {
            kernel_wait(&shared.all_up.0, 0, None);
        }
        if !goes_on {
            return;
        }
        shared.waker_ns.set(shared.waker_ns.get() + woken - start);
        shared.up_ns.set(shared.up_ns.get() + stage::time_ns() - start);
        shared.rounds.set(shared.rounds.get() + 1);
    }
}

fn sleep<B: Sleepers>(seat: &mut Seat<Shared<B>>) {
    let sleepers = seat.case().threads - 1;
    for round in 0.. {
        let shared = seat.shared();
        shared.abed.set(shared.abed.get() + 1);
        shared.bed.sleep(seat.index, round);
        seat.did_one();
        shared.up.set(shared.up.get() + 1);
        if shared.up.get() == sleepers {
            shared.all_up.0.store(1, Ordering::Release);
            kernel_wake(&shared.all_up.0, 1);
        }
        if shared.stop.get() {
            return;
        }
    }
}
