//! C-BO-MCS, a cohort lock (Dice, Marathe and Shavit, PPoPP 2012): an MCS queue for each memory
//! node and one lock with backoff above them, which stays in a node for up to 100 turns.

use std::cell::Cell;

use machine::atomic::{AtomicU32, Ordering};

use super::nodes::{NONE, Nodes};
use super::other_waiting::Spinning;
use super::test_and_set::Backoff;
use super::waiting::Waiting;
use super::{Lock, Padded, TryLock, this_node, thread_index};

/// How often the lock is passed on within a node.
const TURNS: u32 = 100;

struct Local {
    tail: AtomicU32,
    /// Whether the thread that gets the queue's turn has the upper lock already, and for how many
    /// more turns. Written by the turn's holder.
    granted: AtomicU32,
    turns_left: AtomicU32,
}

pub struct CohortLock<U = Backoff> {
    upper: Padded<U>,
    locals: Box<[Padded<Local>]>,
    nodes: Nodes,
    /// In which node each thread took the lock: it may have moved since.
    taken_in: Box<[Cell<usize>]>,
}

impl<U: Lock> Lock for CohortLock<U> {
    fn new(threads: usize) -> Self {
        let local = || Local {
            tail: AtomicU32::new(NONE),
            granted: AtomicU32::new(0),
            turns_left: AtomicU32::new(TURNS),
        };
        CohortLock {
            upper: Padded(U::new(threads)),
            locals: (0..super::nodes_online()).map(|_| Padded(local())).collect(),
            nodes: Nodes::new(threads),
            taken_in: (0..threads).map(|_| Cell::new(0)).collect(),
        }
    }

    fn lock(&self) {
        let index = this_node();
        self.taken_in[thread_index()].set(index);
        let local = &self.locals[index].0;
        let (own, before) = self.nodes.append(&local.tail);
        if before != NONE {
            Spinning::wait(&self.nodes.of(own).word);
        }
        if local.granted.load(Ordering::Acquire) != 0 {
            local.granted.store(0, Ordering::Relaxed);
        } else {
            self.upper.0.lock();
        }
    }

    fn unlock(&self) {
        let local = &self.locals[self.taken_in[thread_index()].get()].0;
        let own = Nodes::own();
        let turns_left = local.turns_left.load(Ordering::Relaxed);
        if local.tail.load(Ordering::Relaxed) != own && turns_left > 0 {
            local.turns_left.store(turns_left - 1, Ordering::Relaxed);
            local.granted.store(1, Ordering::Release);
            let next = self.nodes.awaited_next(own);
            return Spinning::grant(&self.nodes.of(next).word);
        }
        local.turns_left.store(TURNS, Ordering::Relaxed);
        self.upper.0.unlock();
        let next = self.nodes.leave_or_next(&local.tail, own);
        if next != NONE {
            Spinning::grant(&self.nodes.of(next).word);
        }
    }
}

impl<U: TryLock> TryLock for CohortLock<U> {
    fn try_lock(&self) -> bool {
        let index = this_node();
        self.taken_in[thread_index()].set(index);
        let local = &self.locals[index].0;
        if !self.nodes.try_append(&local.tail) {
            return false;
        }
        if local.granted.load(Ordering::Acquire) != 0 {
            local.granted.store(0, Ordering::Relaxed);
            return true;
        }
        if self.upper.0.try_lock() {
            return true;
        }
        let next = self.nodes.leave_or_next(&local.tail, Nodes::own());
        if next != NONE {
            Spinning::grant(&self.nodes.of(next).word);
        }
        false
    }
}
