//! A Malthusian lock (Dice, EuroSys 2017): MCS that keeps surplus waiters aside, so that few
//! threads circulate. At each release with at least two waiters the first is put aside; if none
//! waits, the one put aside last comes back; and now and then the one that was put aside first is
//! next.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;

use super::nodes::{NONE, Nodes};
use super::platform::{AtomicU32, Ordering, Padded, thread_index};
use super::waiting::Waiting;
use super::{Lock, TryLock};
use crate::harness::Random;

/// One release in so many lets the oldest in: the paper's and LiTL's choice are of this order.
const FAIR_ONE_IN: usize = 1024;

pub struct Malthusian<W> {
    tail: AtomicU32,
    nodes: Nodes,
    /// How many are aside: what a release looks at. Written by the holder, as the list is.
    aside_count: AtomicU32,
    aside: RefCell<VecDeque<u32>>,
    /// Each thread's own.
    draws: Box<[Padded<RefCell<Random>>]>,
    waiting: PhantomData<W>,
}

// SAFETY: the list is read and written by the lock's holder alone, and the hand-over publishes it;
// a thread touches no draws but its own.
unsafe impl<W> Sync for Malthusian<W> {}

impl<W: Waiting> Lock for Malthusian<W> {
    fn new(threads: usize) -> Self {
        Malthusian {
            tail: AtomicU32::new(NONE),
            nodes: Nodes::new(threads),
            aside_count: AtomicU32::new(0),
            aside: RefCell::new(VecDeque::with_capacity(threads)),
            draws: (0..threads as u64).map(draws).collect(),
            waiting: PhantomData,
        }
    }

    fn lock(&self) {
        let (own, before) = self.nodes.append(&self.tail);
        if before != NONE {
            W::wait(&self.nodes.of(own).word);
        }
    }

    fn unlock(&self) {
        let own = Nodes::own();
        if self.draws[thread_index()].0.borrow_mut().below(FAIR_ONE_IN) == 0
            && let Some(oldest) = self.take_back(VecDeque::pop_front)
        {
            return self.hand_to_inserted(own, oldest);
        }
        let next = self.nodes.of(own).next.load(Ordering::Acquire);
        if next != NONE {
            return self.grant_past(next);
        }
        if let Some(latest) = self.take_back(VecDeque::pop_back) {
            return self.hand_to_inserted(own, latest);
        }
        let next = self.nodes.leave_or_next(&self.tail, own);
        if next != NONE {
            self.grant(next);
        }
    }
}

impl<W: Waiting> TryLock for Malthusian<W> {
    fn try_lock(&self) -> bool {
        self.nodes.try_append(&self.tail)
    }
}

impl<W: Waiting> Malthusian<W> {
    fn grant(&self, to: u32) {
        W::grant(&self.nodes.of(to).word);
    }

    /// Gives the lock to the second waiter, and puts the first aside, if there are two.
    fn grant_past(&self, first: u32) {
        if self.tail.load(Ordering::Relaxed) == first {
            return self.grant(first);
        }
        let second = self.nodes.awaited_next(first);
        self.aside.borrow_mut().push_back(first);
        self.note_aside();
        self.grant(second);
    }

    fn take_back(&self, which: fn(&mut VecDeque<u32>) -> Option<u32>) -> Option<u32> {
        if self.aside_count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let taken = which(&mut self.aside.borrow_mut());
        self.note_aside();
        taken
    }

    fn note_aside(&self) {
        let count = self.aside.borrow().len() as u32;
        self.aside_count.store(count, Ordering::Relaxed);
    }

    /// Puts a thread that was aside right behind the holder, and gives it the lock.
    fn hand_to_inserted(&self, own: u32, inserted: u32) {
        let node = self.nodes.of(inserted);
        node.next.store(NONE, Ordering::Relaxed);
        let exchanged =
            self.tail.compare_exchange(own, inserted, Ordering::AcqRel, Ordering::Relaxed);
        if exchanged.is_err() {
            let next = self.nodes.awaited_next(own);
            node.next.store(next, Ordering::Release);
        }
        self.grant(inserted);
    }
}

fn draws(thread: u64) -> Padded<RefCell<Random>> {
    Padded(RefCell::new(Random::new(0, thread, 0.0)))
}
