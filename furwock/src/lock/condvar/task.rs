//! The condvar for tasks. A notification wakes them and never moves them: what a task is to do with
//! the mutex stands in its future, and a future may be dropped.

use super::{NO_WAITERS, RawCondvar};
use crate::lock::RawMutex;
use crate::lock::mutex::task::RawLockFuture;
use crate::lot::{self, Sink, Stands, TaskNode, TaskWait};
use crate::prim::atomic::Ordering;
use crate::prim::checker_has_failed;
use crate::prim::mutant::{self, Mutant};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

impl RawCondvar {
    /// Releases `mutex`, which a task holds, waits for a notification, and locks it again. The
    /// future has the lock until it is polled, and the caller once it resolves.
    ///
    /// # Cancel safety
    /// A future that is dropped leaves the mutex unlocked. A notification that it got while it
    /// waited goes to the next waiter.
    pub fn wait_task<'a>(&'a self, mutex: &'a RawMutex) -> RawCondvarFuture<'a> {
        RawCondvarFuture { condvar: self, mutex, state: State::Holds }
    }

    /// Queues a task. `None` when the kernel has no memory for it.
    fn enqueue_task(&self, waker: &Waker) -> Option<TaskWait> {
        let (node, sink) = (TaskNode::new()?, Sink::Waker(waker.clone()));
        let mut bucket = lot::announce(self.key());
        self.mark_waiter();
        Some(TaskWait::enqueue(&mut bucket, node, self.key(), Stands::LAST, sink))
    }
}

/// What [`RawCondvar::wait_task`] returns.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct RawCondvarFuture<'a> {
    condvar: &'a RawCondvar,
    mutex: &'a RawMutex,
    state: State<'a>,
}

#[derive(Debug)]
enum State<'a> {
    /// It has the mutex.
    Holds,
    Waits(TaskWait),
    Locks(RawLockFuture<'a>),
    /// The mutex is the caller's.
    Done,
}

impl RawCondvarFuture<'_> {
    /// Whether the mutex is the caller's.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn has_resolved(&self) -> bool {
        matches!(self.state, State::Done)
    }
}

impl Future for RawCondvarFuture<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            match &mut this.state {
                State::Holds => {
                    // Queued before the mutex is released: from here on a notification finds it
                    // (C-1). Without memory the wait ends at once, for no reason.
                    let queued = this.condvar.enqueue_task(context.waker());
                    let waits = queued.is_some();
                    this.state =
                        queued.map_or_else(|| State::Locks(this.mutex.lock_task()), State::Waits);
                    this.mutex.unlock_task();
                    if waits {
                        return Poll::Pending;
                    }
                }
                State::Waits(wait) => {
                    if !wait.poll(context.waker()) {
                        return Poll::Pending;
                    }
                    this.state = State::Locks(this.mutex.lock_task());
                }
                State::Locks(lock) => {
                    if Pin::new(lock).poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    this.state = State::Done;
                }
                State::Done => return Poll::Ready(()),
            }
        }
    }
}

impl Drop for RawCondvarFuture<'_> {
    fn drop(&mut self) {
        if checker_has_failed() {
            return;
        }
        match core::mem::replace(&mut self.state, State::Done) {
            State::Holds => _ = self.mutex.unlock_task(),
            State::Waits(wait) => {
                // Under the bucket's lock, as any waiter (C-4).
                let clear = |was_last| {
                    if was_last {
                        self.condvar.word.store(NO_WAITERS, Ordering::Relaxed);
                    }
                };
                let was_notified = wait.leave(clear).is_some();
                if was_notified && !mutant::active(Mutant::DroppedTaskKeepsNotification) {
                    self.condvar.notify_one();
                }
            }
            State::Locks(_) | State::Done => {}
        }
    }
}
