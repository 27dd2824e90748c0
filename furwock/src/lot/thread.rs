//! What each thread owns here: one node, the place it sleeps, and what its locks learnt of it.

use super::waiter::Waiter;
use crate::prim::CheckedCell;
use crate::prim::atomic::{AtomicU64, AtomicUsize, Ordering};

/// One thread's belongings. Lives in type-stable memory and serves another thread once this one has
/// ended.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Thread {
    pub(super) waiter: Waiter,
    /// pthread's name for the thread, for whoever wants to interrupt it.
    pthread: AtomicUsize,
    /// When it last came out of a lock's queue, in monotonic nanoseconds: its own business.
    pub(crate) active_since_ns: AtomicU64,
    /// The pool's, under the pool's lock.
    pub(super) next_free: CheckedCell<Option<&'static Thread>>,
}

impl Thread {
    pub(crate) fn new() -> Self {
        Self {
            waiter: Waiter::new(),
            pthread: AtomicUsize::new(0),
            active_since_ns: AtomicU64::new(0),
            next_free: CheckedCell::new(None),
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
pub(crate) use native::{current, forget_interrupt, interrupt, tid};

#[cfg(any(loom, shuttle))]
pub(crate) use model::{current, forget_interrupt, interrupt, tid};

#[cfg(not(any(loom, shuttle)))]
mod native {
    use super::super::{pool, table};
    use super::*;
    use crate::sys;
    use core::ffi::c_void;

    pub(crate) use sys::thread::tid;

    /// The calling thread's belongings. `None` only when the kernel has no memory for them.
    #[inline]
    pub(crate) fn current() -> Option<&'static Thread> {
        let known = sys::thread::slot().data.get().cast::<Thread>();
        // SAFETY: null, or set by `register` to memory that is never unmapped.
        unsafe { known.as_ref() }.or_else(register)
    }

    #[cold]
    fn register() -> Option<&'static Thread> {
        sys::fork::on_child(forget);
        let thread = pool::take()?;
        thread.pthread.store(sys::thread::pthread(), Ordering::SeqCst);
        thread.active_since_ns.store(0, Ordering::Relaxed);
        let pointer = core::ptr::from_ref(thread).cast::<c_void>();
        sys::thread::slot().data.set(pointer);
        sys::thread::at_exit(pointer, release);
        Some(thread)
    }

    /// The thread ends. Other destructors may still lock and wait: they register it anew.
    unsafe extern "C" fn release(thread: *mut c_void) {
        sys::thread::slot().data.set(core::ptr::null());
        // SAFETY: the pointer that `register` stored; never unmapped.
        let thread = unsafe { &*thread.cast::<Thread>() };
        thread.pthread.store(0, Ordering::SeqCst);
        pool::give_back(thread);
    }

    /// In a forked child.
    fn forget() {
        table::forget();
        pool::forget();
        sys::thread::slot().data.set(core::ptr::null());
    }

    /// Registers the calling thread and forgets an interrupt (O-4).
    pub(crate) fn forget_interrupt() {
        if let Some(thread) = current() {
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
            if thread.pthread.load(Ordering::SeqCst) == pthread {
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
    pub(crate) fn current() -> Option<&'static Thread> {
        Some(crate::prim::model_thread())
    }

    pub(crate) fn forget_interrupt() {}

    pub(crate) fn interrupt(pthread: usize) {
        let thread = current().filter(|thread| thread.pthread.load(Ordering::SeqCst) == pthread);
        thread.inspect(|thread| thread.waiter.parker.interrupt());
    }

    pub(crate) fn tid() -> u32 {
        model_thread_id()
    }
}
