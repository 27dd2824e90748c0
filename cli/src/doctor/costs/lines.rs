//! What a cache line costs that another core has.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use super::bound::{now_ns, spawn_on};
use super::patience::Patience;
use super::samples::{Samples, median};
use crate::harness::{Padded, Random};

const REPETITIONS: u32 = 24;
/// Round trips in a trial, and trials in a round.
const TRIPS: u32 = 200;
const TRIALS: u32 = 9;
const PATIENCE: Duration = Duration::from_millis(100);

/// A line that names the next one to look at. Each is on a page of its own, at any place of that: a
/// prefetcher sees no pattern.
#[repr(align(4096))]
struct Page([Line; PAGE / LINE]);

#[repr(align(64))]
struct Line(AtomicUsize);

const PAGE: usize = 4096;
const LINE: usize = 64;

/// Lines in a circle whose order no prefetcher guesses. The next is known only when one has come.
pub struct Lines {
    pages: Box<[Page]>,
    first: usize,
}

impl Lines {
    /// So few that the processor knows all their pages' addresses.
    pub const COUNT: usize = 32;

    pub fn new() -> Self {
        let page = |_| Page([const { Line(AtomicUsize::new(0)) }; PAGE / LINE]);
        let pages: Box<[Page]> = (0..Self::COUNT).map(page).collect();
        let mut random = Random::new(7, 0, 0.0);
        let mut order: Vec<usize> =
            (0..Self::COUNT).map(|page| page * (PAGE / LINE) + random.below(PAGE / LINE)).collect();
        for at in (1..Self::COUNT).rev() {
            order.swap(at, random.below(at + 1));
        }
        let lines = Lines { pages, first: order[0] };
        for (at, &line) in order.iter().enumerate() {
            lines.at(line).store(order[(at + 1) % Self::COUNT], Ordering::Relaxed);
        }
        lines
    }

    #[inline]
    fn at(&self, line: usize) -> &AtomicUsize {
        &self.pages[line / (PAGE / LINE)].0[line % (PAGE / LINE)].0
    }

    /// Reads all.
    pub fn read(&self) {
        let mut at = self.first;
        for _ in 0..Self::COUNT {
            at = self.at(at).load(Ordering::Acquire);
        }
        black_box(at);
    }

    /// Reads and writes all, by one instruction each.
    fn write(&self) {
        let mut at = self.first;
        for _ in 0..Self::COUNT {
            // A compiler makes a load of an addition of a zero that it knows.
            at = self.at(at).fetch_add(black_box(0), Ordering::AcqRel);
        }
        black_box(at);
    }

    /// Takes all out of the caches, if a program can.
    #[cfg(target_arch = "x86_64")]
    pub fn flush(&self) -> Option<()> {
        use std::arch::x86_64::{_mm_clflush, _mm_mfence};
        let mut at = self.first;
        for _ in 0..Self::COUNT {
            let line = self.at(at);
            at = line.load(Ordering::Relaxed);
            // SAFETY: every x86-64 processor has the instruction; the line is there.
            unsafe { _mm_clflush(line.as_ptr().cast()) };
        }
        // SAFETY: as above.
        unsafe { _mm_mfence() };
        Some(())
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub fn flush(&self) -> Option<()> {
        None
    }
}

/// Nanoseconds for each line. Each access needs the one before, and the clock waits for the last.
fn timed(f: impl FnOnce()) -> f64 {
    let start = now_ns();
    f();
    let took = now_ns() - start;
    // One look at the clock is in what was measured.
    let look = now_ns();
    let look = now_ns() - look;
    took.saturating_sub(look) as f64 / Lines::COUNT as f64
}

/// How long two threads take that wait for each other's store: both stores, and both transfers.
pub fn round_trip(one: usize, other: usize, patience: Patience) -> Option<f64> {
    let turn = Padded(AtomicU32::new(0));
    let wait = |for_turn: u32| {
        let patience = patience.at_most(PATIENCE);
        patience.spin_until(|| turn.0.load(Ordering::Acquire) == for_turn)
    };
    let answers = || {
        for trip in 0..TRIPS * TRIALS {
            wait(2 * trip + 1)?;
            turn.0.store(2 * trip + 2, Ordering::Release);
        }
        Some(())
    };
    let asks = || {
        let trial = |trial: u32| {
            let start = now_ns();
            for trip in trial * TRIPS..(trial + 1) * TRIPS {
                turn.0.store(2 * trip + 1, Ordering::Release);
                wait(2 * trip + 2)?;
            }
            Some((now_ns() - start) as f64 / f64::from(TRIPS))
        };
        let trials: Option<Vec<f64>> = (0..TRIALS).map(trial).collect();
        median(&trials?)
    };
    std::thread::scope(|scope| {
        let answers = spawn_on(scope, other, answers)?;
        let trip = spawn_on(scope, one, asks).and_then(|asks| asks.join().ok().flatten());
        _ = answers.join();
        trip
    })
}

/// `read`, `write` and `upgrade` of lines that a core on the processor `other` has.
pub fn measure(one: usize, other: usize, patience: Patience) -> Option<[f64; 3]> {
    let lines = Lines::new();
    let turn = Padded(AtomicU32::new(0));
    let wait = |for_turn: u32| {
        let patience = patience.at_most(PATIENCE);
        patience.spin_until(|| turn.0.load(Ordering::Acquire) == for_turn)
    };
    // Each has every other turn.
    let holder = || {
        for repetition in 0..REPETITIONS {
            let steps: [fn(&Lines); 3] = [Lines::write, Lines::read, Lines::write];
            for (at, step) in steps.into_iter().enumerate() {
                let own = 6 * repetition + 2 * at as u32;
                wait(own)?;
                step(&lines);
                turn.0.store(own + 1, Ordering::Release);
            }
        }
        Some(())
    };
    let asker = || {
        let mut costs = [const { Vec::new() }; 3];
        for repetition in 0..REPETITIONS {
            // Before the second, the other core has read the lines once more: a core that reads a
            // line that was written may get it for itself.
            let steps: [fn(&Lines); 3] = [Lines::read, Lines::write, Lines::write];
            for (at, step) in steps.into_iter().enumerate() {
                let own = 6 * repetition + 2 * at as u32 + 1;
                wait(own)?;
                costs[at].push(timed(|| step(&lines)));
                turn.0.store(own + 1, Ordering::Release);
            }
        }
        let [read, upgrade, write] = costs.map(|values| median(&values));
        Some([read?, write?, upgrade?])
    };
    std::thread::scope(|scope| {
        let holder = spawn_on(scope, other, holder)?;
        let costs = spawn_on(scope, one, asker).and_then(|asker| asker.join().ok().flatten());
        _ = holder.join();
        costs
    })
}

pub fn add(samples: &mut Samples, distance: &str, costs: Option<[f64; 3]>) {
    for (at, kind) in ["read", "write", "upgrade"].into_iter().enumerate() {
        samples.add(format!("{kind}.{distance}"), costs.map(|costs| costs[at]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_by_every_line() {
        let lines = Lines::new();
        let (mut at, mut seen) = (lines.first, std::collections::BTreeSet::new());
        while seen.insert(at) {
            at = lines.at(at).load(Ordering::Relaxed);
        }
        assert_eq!((at, seen.len()), (lines.first, Lines::COUNT));
        lines.write();
    }

    #[test]
    fn a_core_that_does_not_answer_is_given_up() {
        let patience = Patience::lasting(Duration::ZERO);
        let one = crate::affinity::allowed()[0];
        assert_eq!(measure(one, usize::MAX, patience), None);
        assert_eq!(round_trip(one, usize::MAX, patience), None);
    }
}
