//! `Notify`: notifications for threads and tasks.

use crate::lock::{RawNotified, RawNotify};
use crate::sys::clock::Deadline;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::time::Instant;

/// Tells threads and tasks that something has happened: tokio's `Notify`, with waits that block
/// besides.
///
/// [`notify_one`](Self::notify_one) wakes the waiter that has waited longest; if none waits, the
/// notification is stored, and the next wait takes it at once. At most one is stored.
///
/// ```
/// use furwock::Notify;
/// use std::sync::Arc;
///
/// # let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
/// let ready = Arc::new(Notify::new());
/// let task = runtime.spawn({
///     let ready = Arc::clone(&ready);
///     async move { ready.notified().await }
/// });
/// ready.notify_one(); // Before or after the task waits.
/// runtime.block_on(task).unwrap();
///
/// ready.notify_one();
/// ready.wait(); // A thread waits by the same means.
/// ```
#[derive(Debug, Default)]
pub struct Notify {
    raw: RawNotify,
}

impl Notify {
    /// With no notification stored.
    pub const fn new() -> Self {
        Self { raw: RawNotify::new() }
    }

    /// Notifies the thread or task that has waited longest; without one, the next. Release.
    #[inline]
    pub fn notify_one(&self) {
        self.raw.notify_one();
    }

    /// Notifies all that wait at this moment, and stores nothing. Release.
    ///
    /// A future that [`notified`](Self::notified) returned before counts as one that waits, even if
    /// it hasn't been polled.
    pub fn notify_waiters(&self) {
        self.raw.notify_waiters();
    }

    /// A wait for a notification. Acquire.
    ///
    /// Make the future before you look at what is to change: a notification of all that comes after
    /// isn't missed, and one by `notify_one` is stored.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let changed = furwock::Notify::new();
    /// let waits = changed.notified();
    /// changed.notify_waiters();
    /// waits.await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// A future that is dropped gives its place up. A notification by `notify_one` that it got and
    /// didn't report goes to the next waiter, or is stored.
    pub fn notified(&self) -> Notified<'_> {
        Notified { raw: self.raw.notified() }
    }

    /// Waits for a notification, blocking the thread. Acquire.
    pub fn wait(&self) {
        self.raw.wait(None);
    }

    /// Waits for a notification, at most as long as `timeout`. Whether there was one. Acquire, if
    /// so.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let ready = furwock::Notify::new();
    /// ready.notify_one();
    /// assert!(ready.wait_for(Duration::ZERO), "it was stored");
    /// assert!(!ready.wait_for(Duration::from_millis(1)));
    /// ```
    pub fn wait_for(&self, timeout: Duration) -> bool {
        self.raw.wait(Some(&Deadline::after(timeout)))
    }

    /// Waits for a notification, at most until `timeout`. Whether there was one. Acquire, if so.
    pub fn wait_until(&self, timeout: Instant) -> bool {
        self.raw.wait(Some(&Deadline::from_instant(timeout)))
    }
}

/// What [`Notify::notified`] returns: resolves once notified.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Notified<'a> {
    raw: RawNotified<'a>,
}

impl Notified<'_> {
    /// Joins the queue now, without being polled. Returns whether it is notified already.
    ///
    /// ```
    /// let ready = furwock::Notify::new();
    /// let (mut first, mut second) = (ready.notified(), ready.notified());
    /// assert!(!first.enable());
    /// ready.notify_one();
    /// assert!(!second.enable(), "the first was in the queue");
    /// assert!(first.enable());
    /// ```
    pub fn enable(&mut self) -> bool {
        self.raw.enable()
    }
}

impl Future for Notified<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.raw).poll(context)
    }
}
