//! Waiters chosen under a bucket lock, to be notified after it is dropped.
//!
//! Few are notified one by one. Many are handed to the first `FAN_OUT` of them, each of which
//! notifies its share on the way out, again by fan-out: the waker of hundreds pays for four system
//! calls (locks.md measured 3 us for the waker against 1113, with everybody awake no later).

use crate::lot::node::{Kind, Waiter, notify};
use crate::prim::mutant::{self, Mutant};

/// How many a waker, or a woken waiter with heirs, notifies itself.
const FAN_OUT: usize = if cfg!(any(loom, shuttle)) { 1 } else { 4 };

/// Up to this many are notified one by one: fewer than two levels of a tree gain nothing.
const PLAIN: usize = if cfg!(any(loom, shuttle)) { 1 } else { 8 };

/// Chosen waiters, dealt to `FAN_OUT` chains in turn.
pub(super) struct WakeList {
    heads: [Option<&'static Waiter>; FAN_OUT],
    tails: [Option<&'static Waiter>; FAN_OUT],
    len: usize,
    /// Tasks: nobody knows when they will run, so that they get no heirs. The latest comes first.
    tasks: Option<&'static Waiter>,
}

impl WakeList {
    pub(super) const fn new() -> Self {
        Self { heads: [None; FAN_OUT], tails: [None; FAN_OUT], len: 0, tasks: None }
    }

    /// # Safety
    /// The caller has just chosen `waiter`, and nobody has notified it.
    pub(super) unsafe fn push(&mut self, waiter: &'static Waiter) {
        // SAFETY: chosen and not yet notified.
        if let Kind::Task(_) = unsafe { waiter.kind.get() } {
            // SAFETY: as above.
            unsafe { waiter.next_chosen.set(self.tasks) };
            self.tasks = Some(waiter);
            return;
        }
        let chain = self.len % FAN_OUT;
        // SAFETY: chosen and not yet notified: the node's (W) fields are the waker's, and so are
        // those of the chain's last.
        unsafe {
            waiter.next_chosen.set(None);
            waiter.heirs.set(None);
            match self.tails[chain] {
                Some(last) => last.next_chosen.set(Some(waiter)),
                None => self.heads[chain] = Some(waiter),
            }
        }
        self.tails[chain] = Some(waiter);
        self.len += 1;
    }

    /// Notifies them all, or sees to it that they will be.
    #[inline]
    pub(super) fn notify(self) {
        if self.len != 0 {
            self.notify_threads();
        }
        if let Some(last) = self.tasks {
            notify_tasks(last);
        }
    }

    fn notify_threads(&self) {
        let plain = self.len <= PLAIN;
        for head in self.heads.iter().copied().flatten() {
            if plain {
                notify_chain(head);
            } else {
                // SAFETY: not yet notified, so that the (W) fields are this thread's.
                unsafe {
                    head.heirs.set(head.next_chosen.get());
                    notify(head);
                }
            }
        }
    }
}

fn notify_chain(head: &'static Waiter) {
    let mut at = Some(head);
    while let Some(waiter) = at {
        // SAFETY: not yet notified, so that the (W) fields are this thread's; read before the
        // notification, after which the node isn't.
        unsafe {
            at = waiter.next_chosen.get();
            notify(waiter);
        }
    }
}

#[cold]
fn notify_tasks(last: &'static Waiter) {
    let mut reversed = None;
    let mut at = Some(last);
    while let Some(waiter) = at {
        // SAFETY: not yet notified, so that the (W) fields are this thread's.
        unsafe { at = waiter.next_chosen.replace(reversed) };
        reversed = Some(waiter);
    }
    if let Some(first) = reversed {
        notify_chain(first);
    }
}

/// Passes on the notifications that `waiter`'s own brought with it.
///
/// # Safety
/// Called by the waiter's thread after its notification, once.
#[inline]
pub(crate) unsafe fn notify_heirs(waiter: &'static Waiter) {
    // SAFETY: the notification gave the (W) fields back to this thread.
    let heirs = unsafe { waiter.heirs.get() };
    if let Some(first) = heirs.filter(|_| !mutant::active(Mutant::HeirsForgotten)) {
        deal(first);
    }
}

#[cold]
fn deal(first: &'static Waiter) {
    let mut list = WakeList::new();
    let mut at = Some(first);
    while let Some(waiter) = at {
        // SAFETY: the chain came with this thread's notification; nobody else knows it.
        unsafe {
            at = waiter.next_chosen.get();
            list.push(waiter);
        }
    }
    list.notify();
}
