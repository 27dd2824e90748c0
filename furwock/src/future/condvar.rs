//! The condvar for tasks.

use super::MutexGuardAsync;
use crate::lock::RawCondvarFuture;
use crate::{Condvar, Mutex};
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

/// For tasks.
impl Condvar {
    /// Releases the mutex, waits for a notification in the same queue as threads, and locks the
    /// mutex again. Wakeups may be spurious: check in a loop.
    ///
    /// ```
    /// use furwock::future::AsyncMutex;
    /// use furwock::{Condvar, Mutex};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let (ready, changed) = (Mutex::new(false), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         *ready.lock() = true;
    ///         changed.notify_one();
    ///     });
    /// });
    /// let mut guard = ready.lock_async().await;
    /// while !*guard {
    ///     guard = changed.wait_async(guard).await;
    /// }
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// A future that is dropped leaves the mutex unlocked: the guard is gone. A notification that
    /// it got while it waited goes to the next waiter.
    pub fn wait_async<'a, T: ?Sized>(
        &'a self,
        guard: MutexGuardAsync<'a, T>,
    ) -> CondvarFuture<'a, T> {
        let mutex = MutexGuardAsync::mutex(&guard);
        let raw = self.raw().wait_task(super::mutex::raw(mutex));
        // The future has the lock now.
        core::mem::forget(guard);
        CondvarFuture { mutex, raw }
    }
}

/// What [`Condvar::wait_async`] returns: resolves to the guard.
#[must_use = "futures do nothing unless polled"]
pub struct CondvarFuture<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    raw: RawCondvarFuture<'a>,
}

impl<'a, T: ?Sized> Future for CondvarFuture<'a, T> {
    type Output = MutexGuardAsync<'a, T>;

    /// # Panics
    /// If it has resolved before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.raw.has_resolved(), "polled after it has resolved");
        ready!(Pin::new(&mut self.raw).poll(context));
        Poll::Ready(super::mutex::guard(self.mutex))
    }
}

impl<T: ?Sized> fmt::Debug for CondvarFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CondvarFuture").finish_non_exhaustive()
    }
}
