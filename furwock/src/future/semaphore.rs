//! The semaphore for tasks.

use crate::Semaphore;
use crate::lock::RawAcquireFuture;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// For tasks.
impl Semaphore {
    /// Takes a permit once there is one, waiting in the same queue as threads. Acquire.
    ///
    /// The permit is taken when the future resolves; [`release`](Self::release) gives it back.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// use furwock::Semaphore;
    ///
    /// let permits = Semaphore::new(2);
    /// permits.acquire_async().await;
    /// assert_eq!(permits.available(), 1);
    /// permits.release()?;
    /// # Ok::<(), furwock::TooManyPermits>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Cancel safety
    /// A future that is dropped has taken no permit, and a wake that was on its way to it goes to
    /// the next waiter.
    pub fn acquire_async(&self) -> AcquireFuture<'_> {
        self.acquire_many_async(1)
    }

    /// Takes `count` permits at once, once there are so many. Acquire.
    ///
    /// It holds none while it waits, and callers that want fewer overtake it.
    ///
    /// # Cancel safety
    /// As for [`acquire_async`](Self::acquire_async).
    pub fn acquire_many_async(&self, count: u32) -> AcquireFuture<'_> {
        AcquireFuture { raw: self.raw().acquire_task(count) }
    }

    /// Takes `count` permits at once, if there are so many. Acquire, if it did.
    pub fn try_acquire_many(&self, count: u32) -> bool {
        self.raw().try_acquire_many(count)
    }
}

/// What [`Semaphore::acquire_async`] returns: resolves once the permits are taken.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct AcquireFuture<'a> {
    raw: RawAcquireFuture<'a>,
}

impl Future for AcquireFuture<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.raw).poll(context)
    }
}
