//! Waits that end without returning: a signal handler jumps out of them, or an unwind takes their
//! frames.

use crate::lot::bucket::{lock, notify_fan_out};
use crate::lot::node::{
    ANY, From, Key, NO_WAKE, Verdict, Waiter, for_each, give_back, is_callers, is_own, tid,
};
use crate::sys::{signals, thread};

/// Whether the owner's wait is over, as it has to be when the node is given back; sees to it where
/// an unwind takes the node along, which is a cancellation's that a signal handler acted on, or an
/// exception's that it threw. `false` if the node has to stay where it is.
#[inline]
pub(super) fn has_left(waiter: &'static Waiter) -> bool {
    waiter.queued_at() == Key::NOWHERE || leave_unwound(waiter)
}

#[cold]
fn leave_unwound(waiter: &'static Waiter) -> bool {
    !thread::holds() && signals::closed(|| abandon(waiter))
}

/// Ends the wait of a thread that won't come back to it, and wakes all others that wait there.
/// `false` if it has to stay as it is: no wake was to reach it, or members of a wait on many words
/// know it.
fn abandon(waiter: &'static Waiter) -> bool {
    let queued_at = waiter.queued_at();
    if waiter.key() == Key::MANY {
        // Its members stay queued, and know it: wakers are to pass them by for good.
        waiter.claim.disarm();
        waiter.set_queued_at(Key::MANY);
        return false;
    }
    if queued_at == Key::NOWHERE {
        return true;
    }
    // SAFETY: the owner's, which calls this, and wrote it before it queued.
    if unsafe { waiter.bitset.get() } == NO_WAKE {
        // Others know it: the threads that sleep at its gate, and the one that will open the gate,
        // which takes it out of the queue without a notification.
        return false;
    }
    loop {
        let key = waiter.key();
        if waiter.is_chosen() {
            while !waiter.parker.is_notified() {
                thread::yield_now();
            }
            // SAFETY: notified: the (W) fields are this thread's again.
            unsafe { notify_fan_out(waiter) };
            lock(queued_at).choose_many(queued_at, usize::MAX, ANY);
            // SAFETY: as above.
            let Verdict { granted, holds_wake, .. } = unsafe { waiter.verdict.get() };
            if let Some(granted) = granted {
                // SAFETY: the thread is in its call on the lock that was granted, which it leaves.
                unsafe { granted.give_back() };
            }
            settle_debt(waiter, From::Chosen { holds_wake });
            break;
        }
        let mut locked = lock(key);
        // SAFETY: locked by this key.
        let Some(queued) = (unsafe { locked.queued(waiter, key) }) else { continue };
        locked.remove(queued);
        locked.choose_many(key, usize::MAX, ANY);
        drop(locked);
        settle_debt(waiter, if key == queued_at { From::Queue } else { From::OtherQueue });
        break;
    }
    waiter.set_queued_nowhere();
    true
}

fn settle_debt(waiter: &'static Waiter, from: From) {
    // SAFETY: the owner's, which calls this.
    if let Some(debt) = unsafe { waiter.debt.replace(None) } {
        (debt.settle)(debt.address, from);
    }
}

/// Ends the waits of the calling thread whose frames `is_left` says it has left without returning
/// from them: by a jump out of a signal handler, for example, which is where this is called, before
/// the jump.
///
/// A waker that chose such a waiter may have counted on it. So all others at its address are woken,
/// to look for themselves.
pub(crate) fn abandon_waits(is_left: impl Fn(usize) -> bool) {
    // A handler that came upon its thread in the engine can't do anything for that wait.
    if thread::holds() {
        return;
    }
    let tid = tid();
    for_each(|node| {
        let Some(frame) = node.frame() else { return };
        if !is_callers(node, tid) || !is_left(frame) || !abandon(&node.waiter) {
            return;
        }
        node.end_wait();
        if !is_own(node) {
            node.stop_serving();
            give_back(node);
        }
    });
}

/// The same for frames that are about to be unwound, whose nodes are still to be dropped.
pub(crate) fn end_waits(is_left: impl Fn(usize) -> bool) {
    let tid = tid();
    for_each(|node| {
        let Some(frame) = node.frame() else { return };
        if is_callers(node, tid) && is_left(frame) {
            abandon(&node.waiter);
        }
    });
}
