//! Room that the engine carries for locks, which alone know what stands there.

#[cfg(not(any(loom, shuttle)))]
use crate::prim::atomic::Ordering;
use crate::prim::atomic::{AtomicU32, AtomicU64};
#[cfg(not(any(loom, shuttle)))]
use crate::sys::clock::monotonic_ns;

/// Two words in each waiter. They are 0 in a new one, and the engine never writes them: what they
/// say outlasts the wait, in memory that is never unmapped.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) words: [AtomicU32; 2],
}

impl Room {
    pub(super) fn new() -> Self {
        Self { words: [AtomicU32::new(0), AtomicU32::new(0)] }
    }
}

/// A thread's own: 0 in a new thread, and no other thread writes them.
#[derive(Debug)]
pub(crate) struct Notes {
    pub(crate) times: [AtomicU64; 8],
    pub(crate) counts: [AtomicU32; 6],
    /// When the thread's first sleep ended since a lock stored 0 here, in monotonic nanoseconds.
    /// The engine writes it, for waits at one address: those in a queue of its own. One that was
    /// notified before it slept counts, too.
    pub(crate) woke_at: AtomicU64,
}

impl Notes {
    pub(super) fn new() -> Self {
        Self {
            times: core::array::from_fn(|_| AtomicU64::new(0)),
            counts: core::array::from_fn(|_| AtomicU32::new(0)),
            woke_at: AtomicU64::new(0),
        }
    }

    /// A sleep of the thread's has ended.
    #[inline]
    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn note_wake(&self) {
        if self.woke_at.load(Ordering::Relaxed) == 0 {
            self.woke_at.store(monotonic_ns(), Ordering::Relaxed);
        }
    }

    /// For another thread.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn clear(&self) {
        self.times.iter().for_each(|time| time.store(0, Ordering::Relaxed));
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.woke_at.store(0, Ordering::Relaxed);
    }
}
