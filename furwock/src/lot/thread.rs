//! What each thread owns here: one node, the place it sleeps, and what its locks learnt of it.

use super::waiter::Waiter;
use crate::prim::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::prim::{CheckedCell, checker_has_failed};

/// One thread's belongings. Lives in type-stable memory and serves another thread once this one has
/// ended.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Thread {
    pub(super) waiter: Waiter,
    /// An address in the frame of the wait that the node serves, 0 if it serves none. A signal handler
    /// that waits meanwhile takes another.
    frame: AtomicUsize,
    /// pthread's name for the thread, for whoever wants to interrupt it.
    pthread: AtomicUsize,
    /// When it last came out of a lock's queue, in monotonic nanoseconds: its own business.
    pub(crate) active_since_ns: AtomicU64,
    /// What its contentions taught it: its own business, too.
    pub(crate) pace: Pace,
    /// The pool's, under the pool's lock; of spare nodes, whoever's they are.
    pub(super) next_free: CheckedCell<Option<&'static Thread>>,
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
            active_since_ns: AtomicU64::new(0),
            pace: Pace::default(),
            next_free: CheckedCell::new(None),
        }
    }
}

impl Thread {
    /// Notes whose wait a spare node serves, for a child that a signal handler forks meanwhile.
    pub(super) fn serves_this_thread(&self, yes: bool) {
        self.pthread.store(if yes { pthread() } else { 0 }, Ordering::Relaxed);
    }

    fn begin_wait(&self) {
        let here = 0_u8;
        self.frame.store(core::ptr::from_ref(&here).addr(), Ordering::Relaxed);
    }

    fn end_wait(&self) {
        self.frame.store(0, Ordering::Relaxed);
    }

    fn is_waiting(&self) -> bool {
        self.frame.load(Ordering::Relaxed) != 0
    }
}

/// A node for one wait: the thread's own, or a spare one, inside a signal handler that came upon a
/// wait of its thread, or in a thread that is ending.
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
    pub(super) fn rank(&self) -> u32 {
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
pub(crate) use native::{abandon_waits, forget_interrupt, interrupt, is_waiting, own, tid};
#[cfg(not(any(loom, shuttle)))]
pub(super) use native::{give_back, spares};

#[cfg(any(loom, shuttle))]
pub(crate) use model::are_there_ranks;
#[cfg(any(loom, shuttle))]
pub(crate) use model::{forget_interrupt, interrupt, own, tid};
#[cfg(any(loom, shuttle))]
pub(super) use model::{give_back, spares};
#[cfg(any(loom, shuttle))]
use model::{pthread, realtime_priority};

#[cfg(not(any(loom, shuttle)))]
mod native {
    use super::super::{pool, slots, table};
    use super::*;
    use crate::sys;
    use core::ffi::c_void;

    pub(crate) use sys::thread::tid;

    /// In the slot of a thread that has given its belongings back.
    const ENDING: *const c_void = core::ptr::without_provenance(1);

    /// The calling thread's belongings. `None` when the kernel has no memory for them, and once the
    /// thread is ending.
    #[inline]
    pub(crate) fn own() -> Option<&'static Thread> {
        let known = sys::thread::slot().data.get();
        if known.is_null() || known == ENDING {
            return register();
        }
        // SAFETY: set by `register` to memory that is never unmapped.
        Some(unsafe { &*known.cast::<Thread>() })
    }

    #[cold]
    fn register() -> Option<&'static Thread> {
        if sys::thread::slot().data.get() == ENDING {
            return None;
        }
        let thread = spares(1)?;
        thread.end_wait();
        thread.active_since_ns.store(0, Ordering::Relaxed);
        thread.pthread.store(sys::thread::pthread(), Ordering::Relaxed);
        let pointer = core::ptr::from_ref(thread).cast::<c_void>();
        sys::thread::slot().data.set(pointer);
        sys::thread::at_exit(pointer, release);
        if sys::priority::realtime_priority() != 0 {
            sys::priority::there_are_ranks();
        }
        Some(thread)
    }

    /// `count` nodes that nobody else uses, at least one, linked through `next_free`.
    #[cold]
    pub(crate) fn spares(count: usize) -> Option<&'static Thread> {
        // Before anything can be queued: whose child forgets nothing finds its parent's waiters.
        sys::fork::on_child(forget);
        pool::take(count)
    }

    /// Takes back what `spares` gave.
    pub(crate) fn give_back(first: &'static Thread) {
        pool::give_back(first);
    }

    /// The thread ends. Other destructors may still lock and wait: they take spare nodes, since
    /// nothing would tell of the last of them.
    unsafe extern "C" fn release(thread: *mut c_void) {
        sys::thread::slot().data.set(ENDING);
        // SAFETY: the pointer that `register` stored; never unmapped.
        let thread = unsafe { &*thread.cast::<Thread>() };
        thread.pthread.store(0, Ordering::Relaxed);
        slots::release();
        // (Some waits leave their node behind.)
        if !thread.is_waiting() {
            give_back(thread);
        }
        super::super::deferred::release();
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
        let own_thread = sys::thread::slot().data.get();
        pool::for_each(|thread| {
            let frame = thread.frame.load(Ordering::Relaxed);
            let is_own = thread.pthread.load(Ordering::Relaxed) == sys::thread::pthread();
            if frame == 0 || !is_own || !is_left(frame) || !thread.waiter.abandon() {
                return;
            }
            thread.end_wait();
            if core::ptr::from_ref(thread).cast() != own_thread {
                thread.serves_this_thread(false);
                give_back(thread);
            }
        });
    }

    /// Whether the calling thread is in a wait: then the caller is a signal handler.
    #[inline]
    pub(crate) fn is_waiting() -> bool {
        let known = sys::thread::slot().data.get();
        // SAFETY: as in `own`.
        !known.is_null() && known != ENDING && unsafe { &*known.cast::<Thread>() }.is_waiting()
    }

    /// In a forked child.
    fn forget() {
        table::forget();
        slots::forget_others();
        pool::for_each(|thread| {
            if thread.pthread.load(Ordering::Relaxed) == sys::thread::pthread() {
                // SAFETY: the child's one thread; in its table nobody is queued any more.
                unsafe { thread.waiter.end_wait_in_child() };
            }
        });
        pool::forget();
        sys::thread::slot().data.set(core::ptr::null());
        // What the parent gave this thread isn't the child's pool's to take back.
        sys::thread::not_at_exit();
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
    /// Costs a walk over all threads that ever waited. May interrupt a thread that has since taken
    /// over the memory of the one meant: it looks, finds nothing, and waits on.
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

    pub(super) fn pthread() -> usize {
        0
    }

    /// Models know no priorities.
    pub(crate) fn are_there_ranks() -> bool {
        false
    }

    pub(super) fn realtime_priority() -> u32 {
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
