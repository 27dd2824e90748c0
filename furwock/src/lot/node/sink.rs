//! What a task's node calls or writes to where a thread's lets its parker go.

use core::ffi::c_int;
use core::task::Waker;

/// What a notification does.
#[derive(Debug)]
pub(crate) enum Sink {
    Waker(Waker),
    /// An eventfd: becomes readable.
    Fd(c_int),
}

/// Where a node keeps its sink. Under the bucket's lock while queued; then the waker's.
#[derive(Debug)]
pub(in crate::lot) struct SinkCell(crate::prim::UnsafeCell<Option<Sink>>);

impl SinkCell {
    pub(super) fn new() -> Self {
        Self(crate::prim::UnsafeCell::new(None))
    }

    /// # Safety
    /// Nothing else may access the cell meanwhile.
    pub(in crate::lot) unsafe fn replace(&self, sink: Option<Sink>) -> Option<Sink> {
        // SAFETY: by this function's contract.
        self.0.with_mut(|cell| unsafe { core::mem::replace(&mut *cell, sink) })
    }

    /// The descriptor, if that is what is written to.
    ///
    /// # Safety
    /// Nothing may write the cell meanwhile.
    pub(in crate::lot) unsafe fn fd(&self) -> Option<c_int> {
        // SAFETY: by this function's contract.
        self.0.with(|cell| match unsafe { &*cell } {
            Some(Sink::Fd(fd)) => Some(*fd),
            _ => None,
        })
    }

    /// # Safety
    /// Nothing may write the cell meanwhile.
    pub(in crate::lot) unsafe fn is_woken_by(&self, waker: &Waker) -> bool {
        // SAFETY: by this function's contract.
        self.0.with(|cell| match unsafe { &*cell } {
            Some(Sink::Waker(own)) => own.will_wake(waker),
            _ => false,
        })
    }
}

// SAFETY: access goes through the unsafe methods, whose callers uphold exclusion.
unsafe impl Sync for SinkCell {}
