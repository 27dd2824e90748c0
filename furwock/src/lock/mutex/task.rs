//! The mutex for tasks: the same word and the same queue.

use super::RawMutex;
use super::state::{FREE, is_free};
use crate::lock::bits::TASK;
use crate::lock::future::{Taker, TaskLock};
use crate::prim::atomic::Ordering;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

impl RawMutex {
    /// Takes the lock for a task if that is possible without waiting: its word then names no
    /// thread, but [`TASK`], and any thread may release it. Acquire on success.
    #[inline]
    pub fn try_lock_task(&self) -> bool {
        let mut word = FREE;
        while is_free(word) {
            match self.exchange(word, word | TASK, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Takes the lock for a task, waiting in the same queue as threads. Acquire.
    ///
    /// # Cancel safety
    /// A future that is dropped leaves the queue. If the lock was handed to it, it releases the
    /// lock; if it was woken, it wakes the next waiter in its place.
    pub fn lock_task(&self) -> RawLockFuture<'_> {
        RawLockFuture { mutex: self, taker: None }
    }

    /// Releases a lock that a task took. Release.
    #[inline]
    pub fn unlock_task(&self) -> usize {
        match self.unlock_as(TASK) {
            Ok(_) => 0,
            Err(word) => self.unlock_slow(word),
        }
    }
}

impl TaskLock for &RawMutex {
    fn unlock(&self) {
        self.unlock_task();
    }
}

/// What [`RawMutex::lock_task`] returns: resolves once the lock is taken.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct RawLockFuture<'m> {
    mutex: &'m RawMutex,
    /// Once the lock wasn't free.
    taker: Option<Taker<&'m RawMutex>>,
}

impl Future for RawLockFuture<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.taker.is_none() && this.mutex.try_lock_task() {
            return Poll::Ready(());
        }
        let taker = this.taker.get_or_insert_with(|| Taker::new(this.mutex));
        let polled = taker.poll(context);
        if polled.is_ready() {
            this.taker = None;
        }
        polled
    }
}
