//! What each thread owns here: one node, the place it sleeps, and what its locks learnt of it.

use super::ended::Owner;
use super::waiter::Waiter;
use crate::prim::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::prim::{CheckedCell, checker_has_failed};

/// One thread's belongings. Lives in type-stable memory and serves another thread once this one has
/// ended.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Thread {
    pub(in crate::lot) waiter: Waiter,
    /// An address in the frame of the wait that the node serves, 0 if it serves none. A signal handler
    /// that waits meanwhile takes another.
    frame: AtomicUsize,
    /// pthread's name for the thread, for others that want to interrupt it. A new thread may have the
    /// name of one that has ended, whose node hasn't been collected.
    pthread: AtomicUsize,
    /// The thread. Of spare nodes: the thread whose wait it serves, which it is lent to.
    pub(in crate::lot) owner: Owner,
    /// When it last came out of a lock's queue, in monotonic nanoseconds: its own business.
    pub(crate) active_since_ns: AtomicU64,
    /// What its contentions taught it: its own business, too.
    pub(crate) pace: Pace,
    /// The pool's, under the pool's lock; of spare nodes, whoever's they are.
    pub(in crate::lot) next_free: CheckedCell<Option<&'static Thread>>,
}

/// How fast a thread meets contention.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When it did last, in monotonic nanoseconds.
    pub(crate) contended_ns: AtomicU64,
    /// How often it has.
    pub(crate) spells: AtomicU32,
    /// How often in a row it soon did again.
    pub(crate) short: AtomicU32,
}

impl Thread {
    pub(crate) fn new() -> Self {
        Self {
            waiter: Waiter::new(),
            frame: AtomicUsize::new(0),
            pthread: AtomicUsize::new(0),
            owner: Owner::nobody(),
            active_since_ns: AtomicU64::new(0),
            pace: Pace::default(),
            next_free: CheckedCell::new(None),
        }
    }
}

impl Thread {
    /// Notes whose wait a spare node serves, for a child that a signal handler forks meanwhile.
    pub(in crate::lot) fn serves_this_thread(&self, yes: bool) {
        let (pthread, tid) = if yes { (pthread(), tid()) } else { (0, 0) };
        self.pthread.store(pthread, Ordering::Relaxed);
        self.owner.lend(tid);
    }

    fn begin_wait(&self) {
        let here = 0_u8;
        self.frame.store(core::ptr::from_ref(&here).addr(), Ordering::Relaxed);
    }

    fn end_wait(&self) {
        self.frame.store(0, Ordering::Relaxed);
    }

    pub(in crate::lot) fn is_waiting(&self) -> bool {
        self.frame.load(Ordering::Relaxed) != 0
    }
}

/// A node for one wait: the thread's own, or a spare one, inside a signal handler that came upon a
/// wait of its thread.
pub(crate) struct Node {
    thread: &'static Thread,
    rank: u32,
    spare: bool,
}

/// The calling thread's place among others: its real-time priority, 0 if it has none.
///
/// Asks the kernel, which is asked only where a thread was seen with a real-time policy, or is said to
/// have one.
#[inline]
pub(crate) fn rank() -> u32 {
    if are_there_ranks() { realtime_priority() } else { 0 }
}

/// A node for a wait of the calling thread. `None` only when the kernel has no memory for one.
#[inline]
pub(crate) fn node() -> Option<Node> {
    // Nobody else writes `frame` but signal handlers of this thread, which leave it as it was.
    match own().filter(|thread| !thread.is_waiting()) {
        Some(thread) => {
            thread.begin_wait();
            Some(Node { thread, rank: rank(), spare: false })
        }
        None => {
            let thread = spares(1)?;
            thread.serves_this_thread(true);
            thread.begin_wait();
            Some(Node { thread, rank: rank(), spare: true })
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
    pub(in crate::lot) fn rank(&self) -> u32 {
        self.rank
    }
}

impl Drop for Node {
    #[inline]
    fn drop(&mut self) {
        if checker_has_failed() || !self.thread.waiter.has_left() {
            return;
        }
        self.thread.end_wait();
        if self.spare {
            self.thread.serves_this_thread(false);
            give_back(self.thread);
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
pub(crate) use crate::sys::priority::are_there_ranks;
#[cfg(not(any(loom, shuttle)))]
use crate::sys::priority::realtime_priority;
#[cfg(not(any(loom, shuttle)))]
use crate::sys::thread::pthread;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use native::watch_forks;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use native::{
    abandon_waits, end_waits, forget_interrupt, interrupt, is_waiting, own, tid,
};
#[cfg(not(any(loom, shuttle)))]
pub(in crate::lot) use native::{collect, give_back, spares};

#[cfg(any(loom, shuttle))]
pub(crate) use model::are_there_ranks;
#[cfg(any(loom, shuttle))]
pub(crate) use model::{forget_interrupt, interrupt, own, tid};
#[cfg(any(loom, shuttle))]
pub(in crate::lot) use model::{give_back, spares};
#[cfg(any(loom, shuttle))]
use model::{pthread, realtime_priority};

#[cfg(not(any(loom, shuttle)))]
mod native {
    use super::super::ended::{self, Fate};
    use super::super::pool;
    use super::*;
    use crate::lock::slots;
    use crate::lot::bucket::table;
    use crate::sys;
    use core::sync::atomic::compiler_fence;

    pub(crate) use sys::thread::tid;

    /// The calling thread's belongings, to its last instruction. `None` when the kernel has no memory for
    /// them.
    #[inline]
    pub(crate) fn own() -> Option<&'static Thread> {
        known().or_else(register)
    }

    /// The same, if it has any.
    #[inline]
    pub(in crate::lot) fn known() -> Option<&'static Thread> {
        // SAFETY: null, or set by `register` to memory that is never unmapped.
        unsafe { sys::thread::slot().data.get().cast::<Thread>().as_ref() }
    }

    fn is_own(thread: &Thread) -> bool {
        known().is_some_and(|own| core::ptr::eq(own, thread))
    }

    /// Whether it is the calling thread's own node, or serves a wait of its handlers, lent to it by its id
    /// `tid`. Never an ended thread's that had its names.
    fn is_callers(thread: &Thread, tid: u32) -> bool {
        let pthread = || thread.pthread.load(Ordering::Relaxed) == sys::thread::pthread();
        is_own(thread) || (thread.owner.is_lent_to(tid) && pthread())
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
        thread.active_since_ns.store(0, Ordering::Relaxed);
        thread.waiter.parker.take_interrupt();
        sys::thread::slot().data.set(core::ptr::from_ref(thread).cast());
        // From here on `collect` may come upon it, in a signal handler.
        compiler_fence(Ordering::SeqCst);
        thread.pthread.store(sys::thread::pthread(), Ordering::Relaxed);
        thread.owner.set(ended::caller());
        Some(thread)
    }

    /// `count` nodes that nobody else uses, at least one, linked through `next_free`.
    #[cold]
    pub(crate) fn spares(count: usize) -> Option<&'static Thread> {
        watch_forks();
        pool::take(count)
    }

    /// Before anything can be queued or published: a child that forgets nothing finds its parent's.
    pub(crate) fn watch_forks() {
        sys::fork::on_child(forget);
    }

    /// Takes back what `spares` gave.
    pub(crate) fn give_back(first: &'static Thread) {
        pool::give_back(first);
    }

    /// Whether the node is an ended thread's, and in no wait. (Some threads end in one: others know the
    /// node, which stays as it is.) It is the caller's then.
    pub(in crate::lot) fn collect(thread: &'static Thread, caller: u64) -> Fate {
        let fate = match thread.owner.fate(caller, sys::thread::exists) {
            // Left by a thread that had the caller's id.
            Fate::Caller if !is_own(thread) => Fate::Ended,
            Fate::Ended => Fate::Ended,
            other => return other,
        };
        if thread.is_waiting() {
            return Fate::Uncollectable;
        }
        thread.pthread.store(0, Ordering::Relaxed);
        thread.owner.lend(0);
        fate
    }

    /// Ends the waits of the calling thread whose frames `is_left` says it has left without returning
    /// from them: by a jump out of a signal handler, for example, which is where this is called, before
    /// the jump.
    ///
    /// Whoever chose such a waiter may have counted on it. So all others at its address are woken, to
    /// look for themselves.
    pub(crate) fn abandon_waits(is_left: impl Fn(usize) -> bool) {
        // A handler that came upon its thread in the engine can't do anything for that wait.
        if sys::thread::holds() {
            return;
        }
        let tid = tid();
        pool::for_each(|thread| {
            let frame = thread.frame.load(Ordering::Relaxed);
            let is_left = |frame| is_callers(thread, tid) && is_left(frame);
            if frame == 0 || !is_left(frame) || !thread.waiter.abandon() {
                return;
            }
            thread.end_wait();
            if !is_own(thread) {
                thread.serves_this_thread(false);
                give_back(thread);
            }
        });
    }

    /// The same for frames that are about to be unwound, whose nodes are still to be dropped.
    pub(crate) fn end_waits(is_left: impl Fn(usize) -> bool) {
        let tid = tid();
        pool::for_each(|thread| {
            let frame = thread.frame.load(Ordering::Relaxed);
            if frame != 0 && is_callers(thread, tid) && is_left(frame) {
                thread.waiter.abandon();
            }
        });
    }

    /// Whether the calling thread is in a wait: then the caller is a signal handler.
    #[inline]
    pub(crate) fn is_waiting() -> bool {
        known().is_some_and(Thread::is_waiting)
    }

    /// In a forked child, whose thread had the id `tid` in the parent.
    fn forget(tid: u32) {
        table::forget();
        slots::forget_others();
        pool::for_each(|thread| {
            if is_callers(thread, tid) {
                // SAFETY: the child's one thread; in its table nobody is queued any more.
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
        crate::prim::full_fence();
    }

    /// Wakes `pthread` from an interruptible wait, if it is in one. The caller has already stored
    /// what the thread is to see (O-4).
    ///
    /// Costs a walk over all nodes. May interrupt a thread that has since taken over the memory or the
    /// name of the one meant: it looks, finds nothing, and waits on.
    pub(crate) fn interrupt(pthread: usize) {
        crate::prim::full_fence();
        pool::for_each(|thread| {
            if thread.pthread.load(Ordering::Relaxed) == pthread {
                thread.waiter.parker.interrupt();
            }
        });
    }
}

#[cfg(any(loom, shuttle))]
mod model {
    use super::*;
    use crate::prim::model_thread_id;

    /// Model threads are few and their belongings are left to the end of the process.
    pub(crate) fn own() -> Option<&'static Thread> {
        Some(crate::prim::model_thread())
    }

    pub(crate) fn spares(count: usize) -> Option<&'static Thread> {
        let mut first = None;
        for _ in 0..count {
            let thread = crate::prim::model_node();
            // SAFETY: nobody else knows it.
            unsafe { thread.next_free.set(first) };
            first = Some(thread);
        }
        first
    }

    /// Leaves them to the end of the process, too, but notices who gives back twice.
    pub(crate) fn give_back(first: &'static Thread) {
        let mut at = Some(first);
        while let Some(thread) = at {
            let given_back = usize::MAX;
            let before = thread.frame.swap(given_back, Ordering::Relaxed);
            assert!(before != given_back, "a node was given back twice");
            // SAFETY: whoever gives it back knows of nobody else.
            at = unsafe { thread.next_free.get() };
        }
    }

    pub(in crate::lot) fn pthread() -> usize {
        0
    }

    /// Models know no priorities.
    pub(crate) fn are_there_ranks() -> bool {
        false
    }

    pub(in crate::lot) fn realtime_priority() -> u32 {
        0
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
        if let Some(thread) = crate::prim::model_thread_named(_pthread as u32) {
            thread.waiter.parker.interrupt();
        }
    }

    pub(crate) fn tid() -> u32 {
        model_thread_id()
    }
}
