//! What model threads own: boxes, left to the end of the process.

use super::waiter::Thread;
use crate::prim::atomic::Ordering;
use crate::prim::model_thread_id;

crate::prim::model_thread_local! {
    static OWN: &'static Thread = new_thread();
}

#[cfg(all(test, shuttle))]
std::thread_local! {
    static NAMED: core::cell::RefCell<Vec<(u32, &'static Thread)>> =
        const { core::cell::RefCell::new(Vec::new()) };
    static NODES: core::cell::RefCell<Vec<*mut Thread>> =
        const { core::cell::RefCell::new(Vec::new()) };
}

fn new_thread() -> &'static Thread {
    let node = new_node();
    #[cfg(all(test, shuttle))]
    {
        // Apart, since another model thread may run meanwhile.
        let id = model_thread_id();
        NAMED.with_borrow_mut(|named| named.push((id, node)));
    }
    node
}

/// The calling thread's node.
pub(crate) fn own() -> Option<&'static Thread> {
    Some(OWN.with(|own| *own))
}

/// The same. (In models all threads have one.)
pub(crate) fn known() -> Option<&'static Thread> {
    own()
}

/// Models know no time.
pub(crate) fn note_wake() {}

/// The calling thread's id. From then on it has a node, and can be interrupted.
pub(crate) fn tid() -> u32 {
    own();
    model_thread_id()
}

crate::prim::model_thread_local! {
    static EXPECTED: core::cell::Cell<u32> = core::cell::Cell::new(0);
}

/// The calling thread's id, and what it expects of the next mutex's word.
pub(crate) fn claim() -> u32 {
    tid() | EXPECTED.with(core::cell::Cell::get)
}

pub(crate) fn known_claim() -> u32 {
    claim()
}

pub(crate) fn expect(bits: u32, wrong: bool) {
    EXPECTED.with(|expected| expected.set(if wrong { 0 } else { bits }));
}

pub(crate) fn names() -> (usize, u32) {
    (0, tid())
}

/// Models know no priorities.
pub(crate) fn are_there_ranks() -> bool {
    false
}

pub(crate) fn rank() -> u32 {
    0
}

/// `count` nodes that nothing else uses, linked through `next_free`.
pub(crate) fn spares(count: usize) -> Option<&'static Thread> {
    let mut first = None;
    for _ in 0..count {
        let thread = new_node();
        // SAFETY: no other thread knows it.
        unsafe { thread.next_free.set(first) };
        first = Some(thread);
    }
    first
}

/// Leaves them to the end of the process, but notices one that is given back twice.
pub(crate) fn give_back(first: &'static Thread) {
    let mut at = Some(first);
    while let Some(thread) = at {
        let given_back = usize::MAX;
        let before = thread.frame.swap(given_back, Ordering::Relaxed);
        assert!(before != given_back, "a node was given back twice");
        // SAFETY: the caller knows of no other user.
        at = unsafe { thread.next_free.get() };
    }
}

pub(crate) fn forget_interrupt() {
    if let Some(thread) = own() {
        thread.waiter.parker.take_interrupt();
    }
}

/// Interrupts the model thread with this id. (loom's models have the parker's half by itself, in
/// `models::interrupt`.)
pub(crate) fn interrupt(_pthread: usize) {
    #[cfg(all(test, shuttle))]
    if let Some(thread) = named(_pthread as u32) {
        thread.waiter.parker.interrupt();
    }
}

/// The model thread with this id, once it has a node.
#[cfg(all(test, shuttle))]
fn named(id: u32) -> Option<&'static Thread> {
    NAMED.with_borrow(|named| named.iter().find(|(named, _)| *named == id).map(|(_, node)| *node))
}

/// A node that lives as long as anything of its execution, and longer.
fn new_node() -> &'static Thread {
    let node = Box::into_raw(Box::new(Thread::new()));
    #[cfg(all(test, shuttle))]
    NODES.with_borrow_mut(|nodes| nodes.push(node));
    // SAFETY: never freed, or by `forget_ended_executions`.
    unsafe { &*node }
}

/// Frees what all executions that have ended left: a test that runs millions of them calls it in
/// between.
#[cfg(all(test, shuttle))]
pub(crate) fn forget_ended_executions() {
    crate::sys::pretend::DEAD.take();
    NAMED.take();
    for node in NODES.take() {
        // SAFETY: made by `new_node`; nothing of its execution is left that will run.
        drop(unsafe { Box::from_raw(node) });
    }
}
