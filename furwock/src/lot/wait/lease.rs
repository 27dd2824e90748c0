//! The node for one wait of a thread, given back when the wait is over.

#[cfg(not(any(loom, shuttle)))]
use super::leave::has_left;
use crate::lot::node::{self, Thread, Waiter};
use crate::prim::checker_has_failed;

/// A node for one wait: the thread's own, or a spare one, inside a signal handler that came upon a
/// wait of its thread.
pub(crate) struct Node {
    thread: &'static Thread,
    rank: u32,
    spare: bool,
}

/// A node for a wait of the calling thread. `None` only when the kernel has no memory for one.
#[inline]
pub(crate) fn node() -> Option<Node> {
    // Only this thread writes `frame`, and its signal handlers, which leave it as it was.
    match node::own().filter(|thread| !thread.is_waiting()) {
        Some(thread) => {
            thread.begin_wait();
            Some(Node { thread, rank: node::rank(), spare: false })
        }
        None => {
            let thread = node::spares(1)?;
            thread.serve(node::names());
            thread.begin_wait();
            Some(Node { thread, rank: node::rank(), spare: true })
        }
    }
}

impl core::ops::Deref for Node {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        self.thread
    }
}

impl Node {
    #[inline]
    pub(crate) fn waiter(&self) -> &'static Waiter {
        &self.thread.waiter
    }

    /// As of the node's taking.
    #[inline]
    pub(super) fn rank(&self) -> u32 {
        self.rank
    }
}

impl Drop for Node {
    #[inline]
    fn drop(&mut self) {
        if checker_has_failed() || !has_left(&self.thread.waiter) {
            return;
        }
        self.thread.end_wait();
        if self.spare {
            self.thread.stop_serving();
            node::give_back(self.thread);
        }
    }
}

/// Models neither jump nor unwind.
#[cfg(any(loom, shuttle))]
fn has_left(waiter: &'static Waiter) -> bool {
    assert!(waiter.queued_at() == node::Key::NOWHERE, "a wait ended with its node queued");
    true
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::leave::abandon_waits;
    use super::*;
    use std::collections::BTreeSet;

    fn in_a_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(f).join().unwrap())
    }

    fn node_of_a_thread() -> usize {
        in_a_thread(|| core::ptr::from_ref(node::own().unwrap()).addr())
    }

    /// Other tests' threads take nodes too, but not thousands.
    #[test]
    fn nodes_of_ended_threads_serve_others() {
        let nodes: BTreeSet<usize> = (0..2000).map(|_| node_of_a_thread()).collect();
        assert!(nodes.len() < 1000, "{}", nodes.len());
    }

    /// A thread that ended in a wait, whose node others may know, and its node.
    fn ended_in_a_wait() -> (&'static Thread, usize) {
        in_a_thread(|| {
            core::mem::forget(super::node().unwrap());
            (node::own().unwrap(), crate::sys::thread::pthread())
        })
    }

    #[test]
    fn a_node_in_use_at_its_threads_end_stays() {
        let (left, _) = ended_in_a_wait();
        let left = core::ptr::from_ref(left).addr();
        assert!((0..1000).all(|_| node_of_a_thread() != left));
    }

    /// glibc gives a new thread the name of one that has ended, as it does its stack.
    #[test]
    fn an_ended_threads_node_is_not_taken_for_its_namesakes() {
        // Another test's thread may have got the name meanwhile.
        let has_met = (0..10).any(|_| {
            let (left, pthread) = ended_in_a_wait();
            let has_met = (0..1000).any(|_| {
                in_a_thread(|| {
                    let is_namesake = crate::sys::thread::pthread() == pthread;
                    if is_namesake {
                        let _node = super::node();
                        abandon_waits(|_| true);
                    }
                    is_namesake
                })
            });
            assert!(!has_met || left.is_waiting());
            has_met
        });
        assert!(has_met, "no thread had the same name: nothing was tested");
    }
}
