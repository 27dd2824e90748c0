//! The slow path of locks for tasks: what `contender` does for a thread, in steps that a future's
//! polls make.
//!
//! A task doesn't spin. It tries, queues among the threads, and looks again once it was woken, as a
//! thread does: so it steals, asks for the hand-off after as long, and can be handed the lock. It
//! may be dropped at any moment, also after it was chosen. Then it gives up what came with the
//! choice: a lock is released, and a promise to look at the lock is kept (M-12).

use super::bits::{Bits, TASK};
use super::contender::{Contender, Decision, Lock, Progress};
use super::options::Options;
use crate::lot::{Key, Sink, Stands, TaskNode, TaskWait, Verdict};
use crate::prim::atomic::Ordering;
use crate::prim::checker_has_failed;
use crate::prim::mutant::{self, Mutant};
use core::task::{Context, Poll};

/// A lock as a task wants it, and how it is released.
pub(super) trait TaskLock: Lock {
    fn unlock(&self);
}

/// A lock that a task takes: its word says so.
#[derive(Clone, Copy, Debug)]
struct OfTask<L>(L);

impl<L: Lock> Lock for OfTask<L> {
    fn key(&self) -> Key {
        self.0.key()
    }

    fn bits(&self) -> &'static Bits {
        self.0.bits()
    }

    fn load(&self) -> u64 {
        self.0.load()
    }

    fn exchange(&self, old: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        self.0.exchange(old, new, success)
    }

    fn clear(&self, bits: u64) {
        self.0.clear(bits);
    }

    fn claimant(&self) -> u32 {
        TASK
    }
}

/// One task's attempt to take a lock.
#[derive(Debug)]
pub(super) struct Taker<L: TaskLock> {
    contender: Contender<'static, OfTask<L>>,
    wait: Option<TaskWait>,
}

impl<L: TaskLock> Taker<L> {
    pub(super) fn new(lock: L) -> Self {
        Self { contender: Contender::new(OfTask(lock), &const { Options::new() }), wait: None }
    }

    /// Takes the lock if it can be had; otherwise the context's waker will be called. Once it has
    /// taken the lock, another call takes it anew.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(wait) = &mut self.wait {
            let Some(verdict) = wait.poll_verdict(context.waker()) else { return Poll::Pending };
            self.wait = None;
            if self.contender.was_given_lock(verdict) {
                return Poll::Ready(());
            }
            self.contender.learn();
        }
        while !self.contender.try_take() {
            let Some(node) = TaskNode::new() else {
                // Out of memory: it stays awake. What it has promised, it does: it looks again.
                context.waker().wake_by_ref();
                return Poll::Pending;
            };
            // Foreign code, which isn't called under the bucket's lock.
            let mut sink = Some(Sink::Waker(context.waker().clone()));
            if self.queue(node, &mut sink) {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    /// Queues, unless the lock is free.
    fn queue(&mut self, node: TaskNode, sink: &mut Option<Sink>) -> bool {
        let (lock, bits) = (self.contender.lock(), self.contender.lock().bits());
        let decide = |_, clean| {
            if bits.is_available(clean) {
                Decision::Enter
            } else {
                Decision::Queue { token: bits.token, at_most: None }
            }
        };
        let queued = self.contender.queue_by(
            decide,
            |_| false,
            |bucket, token, place| {
                let stands = Stands { owner: TASK, token, place, ..Stands::LAST };
                let sink = sink.take().expect("a task queues once");
                TaskWait::enqueue(bucket, node, lock.key(), stands, sink)
            },
        );
        self.wait = queued.map(|(wait, _)| wait);
        self.wait.is_some()
    }

    /// Leaves the queue. What came with a choice is given up: see M-12.
    fn leave(&mut self) {
        let Some(wait) = self.wait.take() else { return };
        let mut left_others = false;
        let verdict = wait.leave(|was_last| {
            left_others = !was_last;
            if was_last {
                self.contender.clear_queue_bits();
            }
        });
        match verdict {
            Some(verdict) if mutant::active(Mutant::DroppedTaskKeepsPromise) => _ = verdict,
            Some(verdict) => self.leave_chosen(verdict),
            None if left_others => self.contender.lock().settle_after_leaving(),
            None => {}
        }
    }

    fn leave_chosen(&mut self, verdict: Verdict) {
        if self.contender.was_given_lock(verdict) {
            self.contender.lock().0.unlock();
        }
    }
}

impl<L: TaskLock> Drop for Taker<L> {
    fn drop(&mut self) {
        if checker_has_failed() {
            return;
        }
        self.leave();
        // A promise is taken back in a step that takes the lock, or sees it held (M-2).
        if self.contender.give_up() == Progress::Taken {
            self.contender.lock().0.unlock();
        }
    }
}
