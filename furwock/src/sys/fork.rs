//! fork: what a child has to forget.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

static WATCH: AtomicU32 = AtomicU32::new(UNWATCHED);
const UNWATCHED: u32 = 0;
const REGISTERING: u32 = 1;
const WATCHED: u32 = 2;
static GENERATION: AtomicU32 = AtomicU32::new(0);
static FORGET: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Whether this process is the child of one that used furwock before it forked: lock words may then
/// carry the bits of threads that don't exist here.
#[inline]
pub(crate) fn is_child() -> bool {
    #[cfg(all(test, loom))]
    if pretend::CHILD.get() {
        return true;
    }
    generation() != 0
}

/// Counts this process's forks among its ancestors: who finds another number than before is in a
/// child, whose wait-queue table started empty.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Models can't fork, but look at what a child finds.
#[cfg(all(test, loom))]
pub(crate) mod pretend {
    std::thread_local! {
        pub(crate) static CHILD: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
}

/// Sets what a child has to forget, beyond its thread's id.
pub(crate) fn on_child(forget: fn()) {
    if FORGET.load(Ordering::Relaxed).is_null() {
        FORGET.store(forget as *mut (), Ordering::Release);
    }
    watch();
}

/// Registers the handler, once a process. Returns when it is registered, whoever did it: a caller
/// may fork next.
pub(crate) fn watch() {
    if WATCH.load(Ordering::Acquire) == WATCHED {
        return;
    }
    match WATCH.compare_exchange(UNWATCHED, REGISTERING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: the handler is a function of the right type that lives as long as the
            // process. Failure (no memory) leaves a process whose children must not use what their
            // parent held.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            WATCH.store(WATCHED, Ordering::Release);
        }
        Err(_) => {
            while WATCH.load(Ordering::Acquire) == REGISTERING {
                super::thread::nap();
            }
        }
    }
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    super::thread::refresh_tid();
    let forget = FORGET.load(Ordering::Acquire);
    if !forget.is_null() {
        // SAFETY: the pointer was a `fn()` in `on_child`.
        let forget: fn() = unsafe { core::mem::transmute(forget) };
        forget();
    }
}
