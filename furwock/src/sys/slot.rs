//! What a thread knows of itself: its kernel id and a few words more, in storage that a lock's fast
//! path can reach without a call.

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::AtomicPtr;

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, simulated))))]
#[path = "slot/assembled.rs"]
mod storage;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, simulated)))))]
#[path = "slot/ordinary.rs"]
mod storage;

pub(crate) use storage::slot;

/// This thread's own storage. All zero in a new thread.
#[repr(C)]
pub(crate) struct Slot {
    /// The kernel's thread id; 0 until it is first needed.
    pub(super) tid: Cell<u32>,
    /// The id, and above its bits what this thread expects of the next mutex's word; 0 as long as
    /// the id is. One field, so that a signal handler finds and leaves the two in agreement.
    pub(super) claim: Cell<u32>,
    /// Short locks that this thread holds or is about to take: a signal handler that finds any may
    /// not take one.
    pub(super) holding: Cell<u16>,
    /// Read locks that it holds by their words, not by slots, if the caller counts them; 255 means
    /// that many or more.
    pub(super) reads: Cell<u8>,
    /// For so many mutexes that it steals it will expect nothing.
    pub(super) distrust: Cell<u8>,
    /// The pointer that the layers above attach to a thread.
    pub(crate) data: Cell<*const c_void>,
    /// What a signal handler left to be called once this thread holds no short lock.
    pub(crate) on_release: Cell<Option<fn()>>,
    /// What that is for.
    pub(crate) deferred: AtomicPtr<c_void>,
    /// Where it publishes what it uses.
    pub(crate) row: Cell<*const c_void>,
    /// How many closed stretches it is in (`signals`).
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(super) closed: Cell<u32>,
    /// Handlers have been put off until it has left them all.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(crate) has_signals: Cell<bool>,
    /// An address in the frame of the outermost.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(super) closed_at: Cell<usize>,
    #[cfg(not(any(loom, shuttle)))]
    pub(super) signals: Cell<PutOff>,
    /// The preload's note about the call that the thread is in.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(crate) noted: Cell<usize>,
    /// Which word refused the thread's last futex(2) wait, and what it has learnt there.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(crate) refused: Cell<u64>,
}

/// Signal handlers that a closed stretch has put off (`signals`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PutOff {
    /// The mask to restore, as the first handler that was put off found it.
    pub(super) mask: u64,
    /// The mask that the interrupted code goes on with meanwhile.
    pub(super) blocked: u64,
}

/// The kernel's id of this thread, or 0 if it isn't known yet: without a call.
#[inline(always)]
pub(crate) fn known_tid() -> u32 {
    slot().tid.get()
}

/// Asks the kernel for this thread's id again: a forked child's only thread has a new one.
#[inline(always)]
pub(crate) fn refresh_tid() -> u32 {
    #[cfg(simulated)]
    let tid = machine::thread_id();
    #[cfg(not(simulated))]
    // SAFETY: always succeeds, no arguments.
    let tid = unsafe { libc::gettid() } as u32;
    slot().tid.set(tid);
    slot().claim.set(tid);
    tid
}
