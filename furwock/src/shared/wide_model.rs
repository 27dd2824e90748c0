//! Every interleaving of a 64-bit wait with wakers, in a model of `futex_waitv`: ORDERING.md, S-1.
//!
//! A step is what the kernel does under one bucket lock, or one store. That a store which comes
//! before a wake's step is seen by every later check is the kernel's own promise for each half.

use std::collections::HashSet;

/// A 64-bit word by its halves; the expected one is `[0, 0]`.
type Value = [u8; 2];

const EXPECTED: Value = [0, 0];
const VALUES: [Value; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];

/// What wakers do.
#[derive(Clone, Copy)]
struct Protocol {
    half_woken: usize,
    store_first: bool,
}

const RIGHT: Protocol = Protocol { half_woken: 0, store_first: true };

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Waiter {
    /// About to check this half and to queue on it.
    Checks(usize),
    Sleeps,
    Returned,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    word: Value,
    waiter: Waiter,
    queued: [bool; 2],
    woken: bool,
    /// Steps done by each waker; two make a change.
    done: [usize; 2],
}

impl State {
    fn waiter_steps(mut self) -> Option<Self> {
        match self.waiter {
            Waiter::Checks(half) if self.word[half] == EXPECTED[half] => {
                self.queued[half] = true;
                self.waiter = if half == 0 { Waiter::Checks(1) } else { Waiter::Sleeps };
            }
            Waiter::Sleeps if !self.woken => return None,
            Waiter::Returned => return None,
            Waiter::Checks(_) | Waiter::Sleeps => {
                self.queued = [false; 2];
                self.waiter = Waiter::Returned;
            }
        }
        Some(self)
    }

    fn waker_steps(mut self, waker: usize, changes: &[Value], protocol: Protocol) -> Option<Self> {
        let step = self.done[waker];
        let value = *changes.get(step / 2)?;
        if (step % 2 == 0) == protocol.store_first {
            self.word = value;
        } else if core::mem::take(&mut self.queued[protocol.half_woken]) {
            self.woken = true;
        }
        self.done[waker] += 1;
        Some(self)
    }

    /// Whether the waiter can end up asleep on a word that holds something else.
    fn can_lose(
        self,
        changes: [&[Value]; 2],
        protocol: Protocol,
        seen: &mut HashSet<State>,
    ) -> bool {
        if !seen.insert(self) {
            return false;
        }
        let wakers = [0, 1].map(|waker| self.waker_steps(waker, changes[waker], protocol));
        let next: Vec<State> = wakers.into_iter().chain([self.waiter_steps()]).flatten().collect();
        if next.is_empty() {
            return self.waiter == Waiter::Sleeps && self.word != EXPECTED;
        }
        next.into_iter().any(|state| state.can_lose(changes, protocol, seen))
    }
}

fn loses(changes: [&[Value]; 2], protocol: Protocol) -> bool {
    let start = State {
        word: EXPECTED,
        waiter: Waiter::Checks(0),
        queued: [false; 2],
        woken: false,
        done: [0; 2],
    };
    start.can_lose(changes, protocol, &mut HashSet::new())
}

/// All sequences of up to `most` values.
fn sequences(most: usize) -> Vec<Vec<Value>> {
    let mut all = vec![vec![]];
    let mut from = 0;
    for _ in 0..most {
        let upto = all.len();
        for shorter in from..upto {
            for value in VALUES {
                let mut longer = all[shorter].clone();
                longer.push(value);
                all.push(longer);
            }
        }
        from = upto;
    }
    all
}

#[test]
fn no_change_is_slept_through() {
    for one in sequences(3) {
        for other in sequences(2) {
            assert!(!loses([&one, &other], RIGHT), "{one:?} against {other:?}");
        }
    }
}

/// The trace in S-1: half A changes and half B doesn't, so that the later check of B can't tell.
#[test]
fn waking_the_other_half_loses() {
    let protocol = Protocol { half_woken: 1, ..RIGHT };
    assert!(loses([&[[1, 0]], &[]], protocol));
    assert!(!loses([&[[0, 1]], &[]], protocol), "a change of B is seen at its check");
}

#[test]
fn waking_before_the_store_loses() {
    let protocol = Protocol { store_first: false, ..RIGHT };
    for change in [[0, 1], [1, 0], [1, 1]] {
        assert!(loses([&[change], &[]], protocol));
    }
}
