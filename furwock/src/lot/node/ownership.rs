//! The owner of a node: the calling thread, another, or none any more.

use super::ended::Fate;
use super::waiter::Thread;
use crate::prim::atomic::Ordering;
use crate::sys::thread;

/// The calling thread's own node, if it has one.
#[inline]
pub(crate) fn known() -> Option<&'static Thread> {
    // SAFETY: null, or set by `register` to memory that is never unmapped.
    unsafe { thread::slot().data.get().cast::<Thread>().as_ref() }
}

pub(crate) fn is_own(node: &Thread) -> bool {
    known().is_some_and(|own| core::ptr::eq(own, node))
}

/// Whether it is the calling thread's own node, or serves a wait of its handlers, lent to it by its
/// id `tid`. Never an ended thread's that had its names.
pub(crate) fn is_callers(node: &Thread, tid: u32) -> bool {
    let pthread = || node.pthread.load(Ordering::Relaxed) == thread::pthread();
    is_own(node) || (node.owner.is_lent_to(tid) && pthread())
}

/// Whether the node is an ended thread's, and in no wait. (Some threads end in one: others know the
/// node, which stays as it is.) It is the caller's then.
pub(super) fn collect(node: &'static Thread, caller: u64) -> Fate {
    let fate = match node.owner.fate(caller, thread::exists) {
        // Left by a thread that had the caller's id.
        Fate::Caller if !is_own(node) => Fate::Ended,
        Fate::Ended => Fate::Ended,
        other => return other,
    };
    if node.is_waiting() {
        return Fate::Uncollectable;
    }
    node.pthread.store(0, Ordering::Relaxed);
    node.owner.lend(0);
    fate
}
