//! The calling thread's node, and spare ones.

pub(crate) use super::ownership::known;
pub(crate) use crate::sys::priority::are_there_ranks;
pub(crate) use crate::sys::thread::{claim, expect, known_claim, tid};

use super::ownership::is_callers;
use super::waiter::Thread;
use super::{ended, pool};
use crate::prim::atomic::Ordering;
use crate::prim::full_fence;
use crate::sys::priority::realtime_priority;
use crate::sys::{self, fork};
use core::sync::atomic::compiler_fence;

/// The calling thread's place among others: its real-time priority, 0 if it has none.
///
/// Asks the kernel, which is asked only where a thread was seen with a real-time policy, or is said
/// to have one.
#[inline]
pub(crate) fn rank() -> u32 {
    if are_there_ranks() { realtime_priority() } else { 0 }
}

/// The calling thread's names, for `Thread::serve`.
pub(crate) fn names() -> (usize, u32) {
    (sys::thread::pthread(), tid())
}

/// The calling thread's record, to its last instruction. `None` when the kernel has no memory for
/// one.
#[inline]
pub(crate) fn own() -> Option<&'static Thread> {
    known().or_else(register)
}

#[cold]
fn register() -> Option<&'static Thread> {
    let thread = spares(1)?;
    if let Some(by_a_handler) = known() {
        give_back(thread);
        return Some(by_a_handler);
    }
    pool::count_registered();
    thread.end_wait();
    thread.notes.clear();
    thread.waiter.parker.take_interrupt();
    sys::thread::slot().data.set(core::ptr::from_ref(thread).cast());
    // From here on `collect` may come upon it, in a signal handler.
    compiler_fence(Ordering::SeqCst);
    thread.pthread.store(sys::thread::pthread(), Ordering::Relaxed);
    thread.owner.set(ended::caller());
    Some(thread)
}

/// `count` nodes that nothing else uses, at least one, linked through `next_free`.
#[cold]
pub(crate) fn spares(count: usize) -> Option<&'static Thread> {
    // Before any is queued: a child that forgets nothing finds its parent's.
    static HOOK: fork::Hook = fork::Hook(forget);
    fork::on_child(&HOOK);
    fork::watch();
    pool::take(count)
}

/// Notes that a sleep of the calling thread's has ended.
#[inline]
pub(crate) fn note_wake() {
    if let Some(thread) = known() {
        thread.notes.note_wake();
    }
}

/// Takes back what `spares` gave.
pub(crate) fn give_back(first: &'static Thread) {
    pool::give_back(first);
}

/// Whether the calling thread is in a wait: then the caller is a signal handler.
#[inline]
pub(crate) fn is_waiting() -> bool {
    known().is_some_and(Thread::is_waiting)
}

/// In a forked child, whose thread had the id `tid` in the parent.
fn forget(tid: u32) {
    pool::for_each(|thread| {
        if is_callers(thread, tid) {
            // SAFETY: the child's one thread. Its table is forgotten too, so that no node is
            // queued.
            unsafe { thread.waiter.end_wait_in_child() };
        }
    });
    pool::forget();
    sys::thread::slot().data.set(core::ptr::null());
}

/// Registers the calling thread and forgets an interrupt (O-4).
pub(crate) fn forget_interrupt() {
    if let Some(thread) = own() {
        thread.waiter.parker.take_interrupt();
    }
    full_fence();
}

/// Wakes `pthread` from an interruptible wait, if it is in one. The caller has already stored
/// what the thread is to see (O-4).
///
/// Costs a walk over all nodes. May interrupt a thread that has since taken over the memory or the
/// name of the one meant: it looks, finds nothing, and waits on.
pub(crate) fn interrupt(pthread: usize) {
    full_fence();
    pool::for_each(|thread| {
        if thread.pthread.load(Ordering::Relaxed) == pthread {
            thread.waiter.parker.interrupt();
        }
    });
}
