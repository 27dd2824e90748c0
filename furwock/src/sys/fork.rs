//! fork: what a child has to forget.

use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static WATCHING: AtomicBool = AtomicBool::new(false);
static FORKED: AtomicBool = AtomicBool::new(false);
static FORGET: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Whether this process is the child of one that used furwock before it forked: lock words may then
/// carry the bits of threads that don't exist here.
#[inline]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn is_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Sets what a child has to forget, beyond its thread's id.
pub(crate) fn on_child(forget: fn()) {
    FORGET.store(forget as *mut (), Ordering::Release);
    watch();
}

/// Registers the handler, once a process.
pub(crate) fn watch() {
    if WATCHING.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the handler is a function of the right type that lives as long as the process. Failure
    // (no memory) leaves a process whose children must not use what their parent held.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    super::thread::refresh_tid();
    let forget = FORGET.load(Ordering::Acquire);
    if !forget.is_null() {
        // SAFETY: the pointer was a `fn()` in `on_child`.
        let forget: fn() = unsafe { core::mem::transmute(forget) };
        forget();
    }
}
