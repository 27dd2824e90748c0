//! MCS (Mellor-Crummey and Scott 1991): a queue in which each thread waits on a word of its own and
//! gives the lock to the next.

use std::marker::PhantomData;

use super::nodes::{NONE, Nodes};
use super::platform::AtomicU32;
use super::waiting::Waiting;
use super::{Lock, TryLock};

pub struct Mcs<W> {
    tail: AtomicU32,
    nodes: Nodes,
    waiting: PhantomData<W>,
}

impl<W: Waiting> Lock for Mcs<W> {
    fn new(threads: usize) -> Self {
        Mcs { tail: AtomicU32::new(NONE), nodes: Nodes::new(threads), waiting: PhantomData }
    }

    fn lock(&self) {
        let (own, before) = self.nodes.append(&self.tail);
        if before != NONE {
            W::wait(&self.nodes.of(own).word);
        }
    }

    fn unlock(&self) {
        let next = self.nodes.leave_or_next(&self.tail, Nodes::own());
        if next != NONE {
            W::grant(&self.nodes.of(next).word);
        }
    }
}

impl<W: Waiting> TryLock for Mcs<W> {
    fn try_lock(&self) -> bool {
        self.nodes.try_append(&self.tail)
    }
}
