//! What a program on words consists of, and how one is drawn.

use super::random::Random;
use super::runner::{Phase, Program};
use crate::lot;

pub(super) struct Words;

#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Waits at a word as long as it is 0.
    Wait {
        at: usize,
        timed: bool,
        bitset: u32,
    },
    /// Waits at all words at once.
    WaitAny {
        timed: bool,
    },
    /// The same with a registration, so many times.
    Registered {
        timed: bool,
        times: usize,
    },
    /// Polls a future so many times, and then waits for it, or drops it.
    Future {
        at: usize,
        bitset: u32,
        polls: usize,
        awaits: bool,
    },
    Wake {
        at: usize,
        count: usize,
        bitset: u32,
    },
    Requeue {
        from: usize,
        to: usize,
        wake: usize,
        relocate: usize,
    },
    CompareRequeue {
        from: usize,
        expected: u32,
        to: usize,
        wake: usize,
        relocate: usize,
    },
    ChangeAndWake {
        at: usize,
        count: usize,
        changed: usize,
        count_at_changed: usize,
        operand: u32,
    },
    /// Changes a word for a while.
    Blink {
        at: usize,
        wakes: bool,
    },
    /// Takes a token once there is one, waiting for that by so.
    Take {
        by: By,
    },
    /// Makes a token, and wakes one waiter.
    Give,
    /// Waits for a token by a future that is dropped after so many polls, or by a wait without
    /// time.
    Peek {
        polls: usize,
    },
}

/// Ways to wait for a token.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Wait,
    Future,
    Any,
    Registered,
}

#[derive(Clone, Debug)]
pub(super) struct Start {
    /// Where the three words lie.
    pub(super) in_second_bucket: [bool; 3],
}

/// As many tokens as have to be there at first for every taker to end: those that are made by
/// threads that have taken some before don't count.
pub(super) fn tokens_needed(threads: &[Vec<Op>]) -> u32 {
    let takes = |op: &Op| matches!(op, Op::Take { .. });
    let gives = |op: &&Op| matches!(op, Op::Give);
    let taken = threads.iter().flatten().filter(|op| takes(op)).count();
    let given = |ops: &Vec<Op>| ops.iter().take_while(|op| !takes(op)).filter(gives).count();
    taken.saturating_sub(threads.iter().map(given).sum()) as u32
}

impl Op {
    fn draw_token(random: &mut Random) -> Self {
        let by = random.pick(&[By::Wait, By::Future, By::Any, By::Registered]);
        let polls = random.below(3);
        random.weighted(&[(4, Self::Take { by }), (4, Self::Give), (4, Self::Peek { polls })])
    }

    fn draw_wait(random: &mut Random) -> Self {
        let (at, timed) = (random.below(3), random.one_in(4));
        let bitset = random.pick(&[lot::ANY, lot::ANY, 1, 2]);
        let times = random.within(1, 2);
        let future =
            Self::Future { at, bitset, polls: random.within(1, 2), awaits: random.one_in(2) };
        random.weighted(&[
            (6, Self::Wait { at, timed, bitset }),
            (2, Self::WaitAny { timed }),
            (2, Self::Registered { timed, times }),
            (3, future),
        ])
    }

    fn draw_wake(random: &mut Random) -> Self {
        let (at, to) = (random.below(3), random.below(3));
        let count = random.pick(&[0, 1, 1, 1, 2, usize::MAX]);
        let relocate = random.pick(&[1, 1, 2, usize::MAX]);
        let wake = random.pick(&[0, 0, 1]);
        let bitset = random.pick(&[lot::ANY, lot::ANY, 1, 2]);
        let expected = random.pick(&[0, 0, 0, 1]);
        let wakes = random.one_in(2);
        random.weighted(&[
            (5, Self::Wake { at, count, bitset }),
            (3, Self::Requeue { from: at, to, wake, relocate }),
            (3, Self::CompareRequeue { from: at, expected, to, wake, relocate }),
            (
                2,
                Self::ChangeAndWake {
                    at,
                    count,
                    changed: to,
                    count_at_changed: 1,
                    operand: wake as u32,
                },
            ),
            (2, Self::Blink { at, wakes }),
        ])
    }
}

pub(super) fn generate(random: &mut Random) -> Program<Words> {
    let threads = random.weighted(&[(4, 2), (6, 3), (4, 4), (2, 5), (1, 6)]);
    let start = Start { in_second_bucket: [0; 3].map(|_| random.one_in(2)) };
    let tokens = random.one_in(3);
    let threads = (0..threads)
        .map(|_| {
            if tokens {
                random.list(1, 3, Op::draw_token)
            } else if random.one_in(2) {
                random.list(1, 3, Op::draw_wait)
            } else {
                random.list(1, 4, Op::draw_wake)
            }
        })
        .collect();
    Program { phases: vec![Phase { start, threads }] }
}
