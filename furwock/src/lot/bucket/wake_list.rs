//! Waiters chosen under a bucket lock, to be notified after it is dropped (ORDERING.md, O-3).
//!
//! Few are notified one by one. Many are handed to the first `FAN_OUT` of them, each of which
//! notifies its share on the way out, again by fan-out: the waker of hundreds pays for four system
//! calls (3 us instead of 1113, with all awake no later: docs/experiments.md, "The prototype").

use crate::lot::node::{Waiter, Wakes, notify};
use crate::prim::adjustable;
use crate::prim::mutant::{self, Mutant};
use core::cell::Cell;

/// How many a waker, or a woken waiter with a fan-out, notifies itself.
const FAN_OUT: usize = if cfg!(any(loom, shuttle)) { 1 } else { 4 };

/// The chains that there is room for.
const CHAINS: usize = if cfg!(simulated) { 32 } else { FAN_OUT };

/// Up to this many are notified one by one: fewer than two levels of a tree gain nothing.
const PLAIN: usize = if cfg!(any(loom, shuttle)) { 1 } else { 8 };

/// Chosen waiters, dealt to `FAN_OUT` chains in turn.
pub(super) struct WakeList {
    heads: [Cell<Option<&'static Waiter>>; CHAINS],
    tails: [Cell<Option<&'static Waiter>>; CHAINS],
    len: Cell<usize>,
    /// What is polled: when it will run is unknown, so that it gets no fan-out. The latest comes
    /// first.
    tasks: Cell<Option<&'static Waiter>>,
}

impl WakeList {
    pub(super) const fn new() -> Self {
        Self {
            heads: [const { Cell::new(None) }; CHAINS],
            tails: [const { Cell::new(None) }; CHAINS],
            len: Cell::new(0),
            tasks: Cell::new(None),
        }
    }

    /// # Safety
    /// The caller has just chosen `waiter`, and it has not been notified.
    pub(super) unsafe fn push(&self, waiter: &'static Waiter) {
        // SAFETY: chosen and not yet notified.
        if unsafe { waiter.kind.get() }.is_polled() {
            // SAFETY: as above.
            unsafe {
                waiter.next_chosen.set(self.tasks.get());
                waiter.fan_out.set(None);
            }
            self.tasks.set(Some(waiter));
            return;
        }
        let chain = self.len.get() % adjustable!(FAN_OUT, FanOut);
        // SAFETY: chosen and not yet notified: the node's (W) fields are the waker's, and so are
        // those of the chain's last.
        unsafe {
            waiter.next_chosen.set(None);
            waiter.fan_out.set(None);
            match self.tails[chain].get() {
                Some(last) => last.next_chosen.set(Some(waiter)),
                None => self.heads[chain].set(Some(waiter)),
            }
        }
        self.tails[chain].set(Some(waiter));
        self.len.set(self.len.get() + 1);
    }

    /// Notifies them all, or sees to it that they will be. To be called once. (By reference: a copy
    /// would wait for the stores of the last `push`.)
    #[inline]
    pub(super) fn notify(&self) {
        if self.len.get() != 0 {
            self.notify_threads();
        }
        if let Some(last) = self.tasks.get() {
            notify_tasks(last);
        }
    }

    #[inline(never)]
    fn notify_threads(&self) {
        let plain = self.len.get() <= adjustable!(PLAIN, PlainWakes);
        let mut wakes = Wakes::default();
        for head in self.heads.iter().filter_map(Cell::get) {
            if plain {
                notify_chain(head, &mut wakes);
            } else {
                // SAFETY: not yet notified, so that the (W) fields are this thread's.
                unsafe {
                    head.fan_out.set(head.next_chosen.get());
                    notify(head, &mut wakes);
                }
            }
        }
    }
}

fn notify_chain(head: &'static Waiter, wakes: &mut Wakes<'static>) {
    let mut at = Some(head);
    while let Some(waiter) = at {
        // SAFETY: not yet notified, so that the (W) fields are this thread's; read before the
        // notification, after which the node isn't.
        unsafe {
            at = waiter.next_chosen.get();
            notify(waiter, wakes);
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
        notify_chain(first, &mut Wakes::default());
    }
}

/// Passes on the notifications that `waiter`'s own brought with it.
///
/// # Safety
/// Called by the waiter's thread after its notification.
#[inline]
pub(crate) unsafe fn notify_fan_out(waiter: &'static Waiter) {
    // SAFETY: the notification gave the (W) fields back to this thread.
    let fan_out = unsafe { waiter.fan_out.get() };
    if let Some(first) = fan_out.filter(|_| !mutant::active(Mutant::HeirsForgotten)) {
        // SAFETY: as above. (A signal handler that leaves the wait comes here again.)
        unsafe { waiter.fan_out.set(None) };
        deal(first);
    }
}

#[cold]
fn deal(first: &'static Waiter) {
    let list = WakeList::new();
    let mut at = Some(first);
    while let Some(waiter) = at {
        // SAFETY: the chain came with this thread's notification; no other thread knows it.
        unsafe {
            at = waiter.next_chosen.get();
            list.push(waiter);
        }
    }
    list.notify();
}
