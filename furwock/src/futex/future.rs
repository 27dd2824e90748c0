//! Waiting as a future.

use super::{Waited, Word};
use crate::lot::{self, Sink, Stands, TaskNode, TaskWait};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Waits until woken, if `word` holds `expected` when the future is first polled.
///
/// As [`wait`](super::wait), for tasks of any executor: they stand in the same queue as threads.
/// Resolves to `Waited::Woken` or `Waited::Mismatch`; for a deadline, drop the future.
///
/// The thread that wakes calls the task's waker, after releasing the engine's locks. If a waker
/// panics, its message is printed and the other wakes go on.
///
/// Cancel-safe: when dropped, it leaves the queue, and a wake that it got but never reported goes
/// on to the next waiter. After it has resolved it may be polled again, and waits again. A leaked
/// one (`mem::forget`) stays queued, and uses up one wake at its address.
pub fn wait_async<W: Word>(word: &W, expected: W::Value) -> WaitFuture<'_, W> {
    wait_async_bitset(word, expected, lot::ANY)
}

/// `wait_async` for wakes that have a bit in common with `bitset`.
pub fn wait_async_bitset<W: Word>(word: &W, expected: W::Value, bitset: u32) -> WaitFuture<'_, W> {
    WaitFuture { word, expected, bitset, queued: None }
}

/// What [`wait_async`] returns.
#[must_use = "futures do nothing unless polled"]
pub struct WaitFuture<'w, W: Word> {
    word: &'w W,
    expected: W::Value,
    bitset: u32,
    queued: Option<TaskWait>,
}

impl<W: Word> Unpin for WaitFuture<'_, W> {}

// SAFETY: a value is only compared with what the word holds, never followed.
unsafe impl<W: Word> Send for WaitFuture<'_, W> {}

impl<W: Word> Future for WaitFuture<'_, W> {
    type Output = Waited;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Waited> {
        if let Some(queued) = &mut self.queued {
            if !queued.poll(context.waker()) {
                return Poll::Pending;
            }
            self.queued = None;
            return Poll::Ready(Waited::Woken);
        }
        if self.word.value() != self.expected {
            return Poll::Ready(Waited::Mismatch);
        }
        let Some(node) = TaskNode::new() else {
            // Out of memory: a spurious wakeup, which the caller's loop handles.
            return Poll::Ready(Waited::Woken);
        };
        let waker = context.waker().clone();
        let key = self.word.key();
        let mut bucket = lot::announce(key);
        if self.word.value() != self.expected {
            bucket.retract();
            drop(bucket);
            return Poll::Ready(Waited::Mismatch);
        }
        let stands = Stands { bitset: self.bitset, ..Stands::LAST };
        let queued = TaskWait::enqueue(&mut bucket, node, key, stands, Sink::Waker(waker));
        drop(bucket);
        self.queued = Some(queued);
        Poll::Pending
    }
}

impl<W: Word> core::fmt::Debug for WaitFuture<'_, W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WaitFuture").field("queued", &self.queued.is_some()).finish_non_exhaustive()
    }
}
