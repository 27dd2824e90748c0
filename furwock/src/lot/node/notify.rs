//! The notification of a chosen waiter: its last permitted touch.

use super::claim::Counts;
#[cfg(any(loom, shuttle))]
use super::model::give_back;
use super::parker::Wakes;
use super::sink::Sink;
#[cfg(not(any(loom, shuttle)))]
use super::thread::give_back;
use super::waiter::{NodeKind, Thread, Waiter};
use crate::sys::eventfd;
use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(not(any(loom, shuttle)))]
use {
    core::cell::{Cell, RefCell},
    std::collections::VecDeque,
};

/// Tells what waits behind a chosen node. The last permitted touch.
///
/// # Safety
/// The caller chose the node, or was given it to notify, and it has not been notified.
#[inline]
pub(crate) unsafe fn notify(waiter: &'static Waiter, wakes: &mut Wakes<'static>) {
    // SAFETY: not yet notified, so that the node's kind is stable.
    match unsafe { waiter.kind.get() } {
        NodeKind::Thread => waiter.parker.notify(wakes),
        NodeKind::Member { head, counts: Counts::Polled, .. } => {
            // First, since the descriptor is its owner's to close once notified.
            // SAFETY: the owner leaves the head alone from the claim to the notification.
            if let Some(fd) = unsafe { head.sink.fd() } {
                eventfd::signal(fd);
            }
            head.parker.notify(wakes);
        }
        NodeKind::Member { head, .. } => head.parker.notify(wakes),
        NodeKind::Task(thread) => {
            // (It may take as long as it likes.)
            wakes.make();
            // SAFETY: by this function's contract.
            unsafe { notify_task(thread) }
        }
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
                call(Foreign::Wake(waker));
            } else {
                give_back(thread);
                call(Foreign::Drop(waker));
            }
        }
        None => unreachable!("a task's node is queued with its sink"),
    }
}

/// What is left to do with a waker: code that isn't the engine's.
enum Foreign {
    Wake(Waker),
    Drop(Waker),
}

impl Foreign {
    fn run(self) {
        contained(|| match self {
            Self::Wake(waker) => waker.wake(),
            Self::Drop(waker) => drop(waker),
        });
    }
}

/// A waker's code may drop futures, whose wakes go on to other tasks, whose wakers drop futures,
/// and so on. So that the stack doesn't grow with them, calls that are nested too deeply are left
/// to the outermost.
#[cfg(not(any(loom, shuttle)))]
fn call(foreign: Foreign) {
    const MOST_NESTED: usize = 16;
    struct Nested {
        calls: Cell<usize>,
        left: RefCell<VecDeque<Foreign>>,
    }
    std::thread_local! {
        static NESTED: Nested =
            const { Nested { calls: Cell::new(0), left: RefCell::new(VecDeque::new()) } };
    }
    let mut foreign = Some(foreign);
    let begun = NESTED.try_with(|nested| {
        let calls = nested.calls.get();
        if calls == MOST_NESTED {
            nested.left.borrow_mut().extend(foreign.take());
        } else {
            nested.calls.set(calls + 1);
        }
    });
    let Some(foreign) = foreign else { return };
    foreign.run();
    if begun.is_err() {
        // The thread ends, and has no list any more.
        return;
    }
    let next = |nested: &Nested| match nested.calls.get() {
        1 => nested.left.borrow_mut().pop_front(),
        _ => None,
    };
    while let Some(next) = NESTED.with(next) {
        next.run();
    }
    NESTED.with(|nested| nested.calls.set(nested.calls.get() - 1));
}

/// Model threads share one thread's locals.
#[cfg(any(loom, shuttle))]
fn call(foreign: Foreign) {
    foreign.run();
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
