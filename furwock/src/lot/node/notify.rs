//! The notification of a chosen waiter: its last permitted touch.

#[cfg(any(loom, shuttle))]
use super::model::give_back;
use super::sink::Sink;
#[cfg(not(any(loom, shuttle)))]
use super::thread::give_back;
use super::waiter::{NodeKind, Thread, Waiter};
use crate::sys::eventfd;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Tells what waits behind a chosen node. The last permitted touch.
///
/// # Safety
/// The caller chose the node, or was given it to notify, and it has not been notified.
#[inline]
pub(crate) unsafe fn notify(waiter: &'static Waiter) {
    // SAFETY: not yet notified, so that the node's kind is stable.
    match unsafe { waiter.kind.get() } {
        NodeKind::Thread => waiter.parker.notify(),
        NodeKind::Member { head, .. } => head.parker.notify(),
        // SAFETY: by this function's contract.
        NodeKind::Task(thread) => unsafe { notify_task(thread) },
    }
}

/// Tells the owner of a chosen node, and sees to the node if there is no owner any more.
///
/// # Safety
/// The caller chose the node, and it has not been notified.
unsafe fn notify_task(thread: &'static Thread) {
    let parker = &thread.waiter.parker;
    // SAFETY: chosen and not yet notified: the sink is the waker's.
    match unsafe { thread.waiter.sink.replace(None) } {
        Some(Sink::Fd(fd)) => {
            // First, since the descriptor is its owner's to close once notified.
            eventfd::signal(fd);
            if !parker.notify_task() {
                eventfd::close(fd);
                give_back(thread);
            }
        }
        Some(Sink::Waker(waker)) => {
            if parker.notify_task() {
                contained(|| waker.wake());
            } else {
                give_back(thread);
                contained(|| drop(waker));
            }
        }
        None => unreachable!("a task's node is queued with its sink"),
    }
}

/// Runs a waker's code, whose panics must not keep the wake from those behind: neither its own nor
/// that of what it panicked with, when that is dropped. The messages have been printed.
fn contained(foreign: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(foreign)) else { return };
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Its drop may panic in turn, and so on without end.
        core::mem::forget(again);
    }
}
