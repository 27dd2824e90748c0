//! Notifications that aren't lost: one that finds no waiter is kept, once, for the next.
//!
//! The word:
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0 | STORED | a notification of one that the next waiter takes |
//! | 1..=63 | rounds | how often all were notified |
//!
//! | from | by | to |
//! |---|---|---|
//! | waiters queued | `notify_one` | as it was; the first is chosen |
//! | no waiter seen | `notify_one` | +STORED; then under the bucket's lock, if waiters are queued, -STORED if this call set it, and the first is chosen; if none is, +STORED |
//! | STORED | a waiter, before it queues | -STORED |
//! | | `notify_waiters` | rounds + 1; then all that are queued are chosen |
//!
//! A waiter queues, under the bucket's lock, only while STORED is clear and the rounds are those
//! that it began with. ORDERING.md, NT-1 and NT-2.

use super::patience::spin_first;
use super::yields::{self, Balance};
use crate::futex::wait_at;
use crate::lot::{self, Ended, Key, Sink, Stands, TaskNode, TaskWait, Until, Verdict};
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{checker_has_failed, const_unless_model};
use crate::sys::clock::Deadline;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

const STORED: u64 = 1;
const ONE_ROUND: u64 = 2;

#[inline]
const fn round(word: u64) -> u64 {
    word / ONE_ROUND
}

/// What yields before a sleep came to.
static BALANCE: Balance = Balance::new();

/// Notifications for threads and tasks, without data: see [`Notify`](crate::Notify).
#[derive(Debug)]
#[repr(transparent)]
pub struct RawNotify {
    word: AtomicU64,
}

impl Default for RawNotify {
    fn default() -> Self {
        Self::new()
    }
}

impl RawNotify {
    const_unless_model! {
        /// With no notification stored.
        pub fn new() -> Self {
            Self { word: AtomicU64::new(0) }
        }
    }

    /// Notifies the waiter that has waited longest; without one, the next. At most one notification
    /// is stored. Release.
    #[inline]
    pub fn notify_one(&self) {
        if !lot::seems_empty(self.key()) && self.notify_first() {
            return;
        }
        let publish = if mutant::active(Mutant::NotificationRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        let before = self.word.fetch_or(STORED, publish);
        let is_mine = before & STORED == 0;
        if mutant::active(Mutant::NotificationStoredOnly) || (is_mine && lot::is_empty(self.key()))
        {
            return;
        }
        self.notify_queued(is_mine);
    }

    /// Notifies the first waiter, if there is one.
    #[cold]
    fn notify_first(&self) -> bool {
        lot::lock(self.key()).choose_first(self.key(), Verdict::CLAIMED)
    }

    /// Hands the stored notification to the first waiter, if there is one. A call that found one
    /// stored has its own to hand over: the other call may be about to hand over that, or may have
    /// done so since, and then this one has to be stored (NT-1).
    #[cold]
    fn notify_queued(&self, is_mine: bool) {
        let mut queue = lot::lock(self.key());
        if !is_mine && mutant::active(Mutant::NotificationsMerged) {
            return;
        }
        match (is_mine, queue.has(self.key())) {
            (false, false) => _ = self.word.fetch_or(STORED, Ordering::Release),
            (true, false) => {}
            // A waiter that didn't queue has taken it.
            (true, true) if !self.take() => {}
            (_, true) => _ = queue.choose_first(self.key(), Verdict::CLAIMED),
        }
    }

    /// Notifies all that wait, and all futures that [`notified`](Self::notified) has returned.
    /// Stores nothing. Release.
    pub fn notify_waiters(&self) {
        self.word.fetch_add(ONE_ROUND, Ordering::Release);
        if !lot::is_empty(self.key()) {
            lot::lock(self.key()).choose_many(self.key(), usize::MAX, lot::ANY);
        }
    }

    /// A wait for a notification, as a future. Acquire.
    ///
    /// # Cancel safety
    /// A future that is dropped before it has reported its notification gives it to the next.
    pub fn notified(&self) -> RawNotified<'_> {
        let round = round(self.word.load(Ordering::Acquire));
        RawNotified { notify: self, round, wait: None, is_done: false }
    }

    /// Waits for a notification, until `deadline` at most. Whether there was one. Acquire, if so.
    pub fn wait(&self, deadline: Option<&Deadline>) -> bool {
        let began = round(self.word.load(Ordering::Acquire));
        if self.takes(began) {
            return true;
        }
        let key = self.key();
        let is_due = || self.is_due(began);
        if !spin_first(key, is_due, || lot::seems_empty(key)) && deadline.is_none() {
            yields::once(&BALANCE, is_due);
        }
        loop {
            if self.takes(began) {
                return true;
            }
            let look = || if self.is_due(began) { Err(()) } else { Ok(()) };
            let until = Until { deadline, ..Until::default() };
            match wait_at(key, look, until, lot::ANY) {
                Ok(Ended::Chosen(_)) => return true,
                Ok(Ended::TimedOut) => return false,
                Err(()) | Ok(Ended::Interrupted | Ended::Signalled) => {}
            }
        }
    }

    /// Takes the stored notification, if there is one.
    fn take(&self) -> bool {
        self.word.load(Ordering::Relaxed) & STORED != 0
            && self.word.fetch_and(!STORED, Ordering::Acquire) & STORED != 0
    }

    /// Whether a waiter that began in the round `began` is notified without queueing: with all, or
    /// by what is stored, which it takes.
    fn takes(&self, began: u64) -> bool {
        round(self.word.load(Ordering::Acquire)) != began || self.take()
    }

    /// Whether it would be.
    fn is_due(&self, began: u64) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word & STORED != 0 || round(word) != began
    }

    #[inline]
    fn key(&self) -> Key {
        Key::notify(core::ptr::from_ref(self).addr())
    }
}

/// What [`RawNotify::notified`] returns.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct RawNotified<'n> {
    notify: &'n RawNotify,
    round: u64,
    wait: Option<TaskWait>,
    is_done: bool,
}

impl RawNotified<'_> {
    /// Queues now, without being polled, and returns whether it is notified already: from here on
    /// [`RawNotify::notify_one`] finds it.
    pub fn enable(&mut self) -> bool {
        let mut context = Context::from_waker(core::task::Waker::noop());
        Pin::new(self).poll(&mut context).is_ready()
    }
}

impl Future for RawNotified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.is_done {
            return Poll::Ready(());
        }
        if let Some(wait) = &mut this.wait {
            if !wait.poll(context.waker()) {
                return Poll::Pending;
            }
            this.wait = None;
            this.is_done = true;
            return Poll::Ready(());
        }
        while !this.notify.takes(this.round) {
            let Some(node) = TaskNode::new() else {
                // Out of memory: it stays awake, and looks again.
                context.waker().wake_by_ref();
                return Poll::Pending;
            };
            // Foreign code, which isn't called under the bucket's lock.
            let waker = context.waker().clone();
            let key = this.notify.key();
            let mut bucket = lot::announce(key);
            if this.notify.is_due(this.round) {
                bucket.retract();
                continue;
            }
            let sink = Sink::Waker(waker);
            this.wait = Some(TaskWait::enqueue(&mut bucket, node, key, Stands::LAST, sink));
            return Poll::Pending;
        }
        this.is_done = true;
        Poll::Ready(())
    }
}

impl Drop for RawNotified<'_> {
    fn drop(&mut self) {
        if checker_has_failed() {
            return;
        }
        let Some(wait) = self.wait.take() else { return };
        let verdict = wait.leave(|_was_last| {});
        let has_one = verdict.is_some_and(|verdict| verdict.holds_wake);
        if has_one && !mutant::active(Mutant::DroppedTaskKeepsNotification) {
            self.notify.notify_one();
        }
    }
}
