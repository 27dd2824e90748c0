//! The semaphore for tasks, which may want several permits at once.
//!
//! A release wakes as many waiters as it makes permits. A task that finds fewer than it wants would
//! use up such a wake for nothing, so it passes on what it leaves: as it queues again, it wakes
//! those for whom there are enough permits (SE-2).

use super::RawSemaphore;
use super::state::{WAITER, acquired_many};
use crate::lot::{self, Key, Locked, Place, Sink, Stands, TaskNode, TaskWait, Verdict};
use crate::prim::atomic::Ordering;
use crate::prim::checker_has_failed;
use crate::prim::mutant::{self, Mutant};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

impl RawSemaphore {
    /// Takes `count` permits at once, if there are so many. Acquire, if it did.
    #[inline]
    pub fn try_acquire_many(&self, count: u32) -> bool {
        self.take_many(count, 0)
    }

    /// Takes `count` permits at once for a task, once there are so many. Acquire.
    ///
    /// As for [`acquire`](Self::acquire), permits go to the caller that comes first: one that wants
    /// fewer overtakes a task that waits for more.
    ///
    /// # Cancel safety
    /// A future that is dropped leaves the queue with no permit, and a wake that was on its way to
    /// it goes on to the next waiter.
    pub fn acquire_task(&self, count: u32) -> RawAcquireFuture<'_> {
        RawAcquireFuture { semaphore: self, count, wait: None, is_counted: false }
    }

    #[inline]
    fn take_many(&self, count: u32, waiters: u64) -> bool {
        self.update(Ordering::Acquire, |word| acquired_many(word, count, waiters)).is_ok()
    }
}

/// What [`RawSemaphore::acquire_task`] returns: resolves once the permits are taken.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct RawAcquireFuture<'s> {
    semaphore: &'s RawSemaphore,
    count: u32,
    wait: Option<TaskWait>,
    /// The word counts it among the waiters.
    is_counted: bool,
}

impl Future for RawAcquireFuture<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut was_woken = false;
        if let Some(wait) = &mut this.wait {
            if !wait.poll(context.waker()) {
                return Poll::Pending;
            }
            this.wait = None;
            was_woken = true;
        }
        loop {
            if this.semaphore.take_many(this.count, this.is_counted.into()) {
                this.is_counted = false;
                return Poll::Ready(());
            }
            if !this.is_counted {
                // From here on a release looks for it (SE-1).
                this.semaphore.word.fetch_add(WAITER, Ordering::Relaxed);
                this.is_counted = true;
            }
            let Some(node) = TaskNode::new() else {
                // Out of memory: it stays awake, and looks again.
                context.waker().wake_by_ref();
                return Poll::Pending;
            };
            // Foreign code, which isn't called under the bucket's lock.
            let waker = context.waker().clone();
            let key = this.semaphore.key();
            let mut bucket = lot::announce(key);
            let permits = this.semaphore.available();
            if permits >= this.count {
                bucket.retract();
                continue;
            }
            if was_woken && !mutant::active(Mutant::LeftPermitsKept) {
                choose_fitting(&mut bucket, key, permits);
            }
            let place = if was_woken { Place::Front } else { Place::Back };
            let stands = Stands { token: this.count as usize, place, ..Stands::LAST };
            let sink = Sink::Waker(waker);
            this.wait = Some(TaskWait::enqueue(&mut bucket, node, key, stands, sink));
            return Poll::Pending;
        }
    }
}

impl Drop for RawAcquireFuture<'_> {
    fn drop(&mut self) {
        if checker_has_failed() {
            return;
        }
        if self.is_counted {
            self.semaphore.word.fetch_sub(WAITER, Ordering::Relaxed);
        }
        // What is left of the wait passes on its wake: to a waiter that takes a permit, or passes
        // on what it leaves in turn.
        self.wait = None;
    }
}

/// Wakes the first waiters at `key` for whom `permits` are enough, one after another.
fn choose_fitting(bucket: &mut Locked<'_>, key: Key, mut permits: u32) {
    let mut at = bucket.first(key);
    while let Some(waiter) = at.filter(|_| permits != 0) {
        at = bucket.after(waiter);
        // (A thread wants one, and says nothing.)
        let wanted = waiter.token().max(1);
        if wanted <= permits as usize && bucket.choose(waiter, Verdict::WOKEN) {
            permits -= wanted as u32;
        }
    }
}
