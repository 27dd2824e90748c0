//! What happens next: a tree of the processors' next steps, and a heap of timers.

use crate::description::Time;
use crate::random::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No step.
pub(crate) const NEVER: u64 = u64::MAX;

/// When each processor's thread goes on. A tree in which each node is the lesser of its children,
/// so that the root is the next step of all.
///
/// Steps at the same time are taken in an order that the seed decides: a step's key is its time and
/// its processor's rank.
#[derive(Debug)]
pub(crate) struct Steps {
    /// The root at 1; a leaf for each rank from `leaves` on.
    tree: Vec<u64>,
    leaves: usize,
    ranks: Vec<u8>,
    processors: Vec<u8>,
}

const RANK_BITS: u32 = 8;

impl Steps {
    pub(crate) fn new(processors: usize, random: &mut Random) -> Self {
        let leaves = processors.next_power_of_two().max(2);
        let mut by_rank: Vec<u8> = (0..processors).map(|processor| processor as u8).collect();
        for index in (1..processors).rev() {
            by_rank.swap(index, random.below(index + 1));
        }
        let mut ranks = vec![0; processors];
        for (rank, &processor) in by_rank.iter().enumerate() {
            ranks[processor as usize] = rank as u8;
        }
        Self { tree: vec![NEVER; 2 * leaves], leaves, ranks, processors: by_rank }
    }

    #[inline]
    fn leaf(&self, processor: usize) -> usize {
        self.leaves + self.ranks[processor] as usize
    }

    /// The processor's next step is at `time`.
    #[inline]
    pub(crate) fn set(&mut self, processor: usize, time: Time) {
        let leaf = self.leaf(processor);
        let key = time << RANK_BITS | (leaf - self.leaves) as u64;
        self.store(leaf, key);
    }

    #[inline]
    pub(crate) fn clear(&mut self, processor: usize) {
        self.store(self.leaf(processor), NEVER);
    }

    #[inline]
    fn store(&mut self, leaf: usize, key: u64) {
        self.tree[leaf] = key;
        let mut at = leaf / 2;
        while at != 0 {
            let least = self.tree[2 * at].min(self.tree[2 * at + 1]);
            if self.tree[at] == least {
                break;
            }
            self.tree[at] = least;
            at /= 2;
        }
    }

    /// When the processor's next step is.
    pub(crate) fn of(&self, processor: usize) -> Option<Time> {
        let key = self.tree[self.leaf(processor)];
        (key != NEVER).then_some(key >> RANK_BITS)
    }

    /// The time of the next step of all; about the end of time if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.tree[1] >> RANK_BITS
    }

    /// The time of the next step of all processors but one.
    #[inline]
    pub(crate) fn next_time_but(&self, processor: usize) -> Time {
        let (mut at, mut least) = (self.leaf(processor), NEVER);
        while at > 1 {
            least = least.min(self.tree[at ^ 1]);
            at /= 2;
        }
        least >> RANK_BITS
    }

    /// The processor whose step is next, and when.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Time, usize)> {
        let key = self.tree[1];
        let rank = key as usize & ((1 << RANK_BITS) - 1);
        (key != NEVER).then(|| (key >> RANK_BITS, self.processors[rank] as usize))
    }
}

/// What a timer does. Those with a number do nothing unless it is still the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A sleeping thread's deadline, of the sleep with that number.
    Deadline { thread: usize, sleep: u64 },
    /// A processor's thread has had its slice.
    Slice { processor: usize, number: u64 },
    /// Threads are spread over processors anew.
    Balance,
    /// A disturbance keeps a processor's thread from running for that long.
    Suspend { processor: usize, for_time: Time },
    /// A disturbance stops a processor for that long.
    Stop { processor: usize, for_time: Time },
    /// Something takes a processor away from its thread, not for the first or last time.
    Interruption { processor: usize, which: usize },
    /// A thread that was suspended, or woken late, becomes runnable.
    Runnable { thread: usize, waker: usize },
    /// The simulation ends here.
    End,
}

/// Timers by time; those for the same time in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub(crate) fn set(&mut self, time: Time, timer: Timer) {
        self.set += 1;
        self.heap.push(Reverse((time, self.set, timer)));
    }

    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |timer| timer.0.0)
    }

    pub(crate) fn take(&mut self) -> Option<(Time, Timer)> {
        self.heap.pop().map(|Reverse((time, _, timer))| (time, timer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_in_the_order_of_time() {
        let mut random = Random::new(7);
        for processors in [1, 2, 3, 64, 256] {
            let mut steps = Steps::new(processors, &mut random);
            assert_eq!(steps.next(), None);
            let mut times: Vec<Time> = (0..processors).map(|_| random.next() >> 20).collect();
            for (processor, &time) in times.iter().enumerate() {
                steps.set(processor, time);
                assert_eq!(steps.of(processor), Some(time));
            }
            times.sort_unstable();
            for expected in times {
                let (time, processor) = steps.next().unwrap();
                assert_eq!((time, steps.next_time()), (expected, expected));
                let but = steps.next_time_but(processor);
                steps.clear(processor);
                assert_eq!(but, steps.next_time());
            }
            assert_eq!(steps.next(), None);
        }
    }

    #[test]
    fn the_seed_decides_between_steps_at_one_time() {
        let order = |seed| {
            let mut steps = Steps::new(16, &mut Random::new(seed));
            (0..16).for_each(|processor| steps.set(processor, 5));
            let next = |_| {
                let (_, processor) = steps.next().unwrap();
                steps.clear(processor);
                processor
            };
            (0..16).map(next).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn timers_for_one_time_keep_their_order() {
        let mut timers = Timers::default();
        let timer = |thread| Timer::Deadline { thread, sleep: 0 };
        for (time, thread) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            timers.set(time, timer(thread));
        }
        assert_eq!(timers.next_time(), 3);
        let taken: Vec<_> = std::iter::from_fn(|| timers.take()).collect();
        assert_eq!(taken, [(3, timer(1)), (3, timer(3)), (5, timer(0)), (5, timer(2))]);
    }
}
