//! What locks keep of a thread and of a bucket, in the room that the engine carries for them.

use crate::lot::{self, Key, Notes};
use crate::prim::atomic::{AtomicU32, AtomicU64};

/// When the thread last came out of a lock's queue, in monotonic nanoseconds.
pub(super) fn active_since_ns(notes: &Notes) -> &AtomicU64 {
    &notes.times[0]
}

/// When it last met contention, in monotonic nanoseconds.
pub(super) fn contended_ns(notes: &Notes) -> &AtomicU64 {
    &notes.times[1]
}

/// How often it has met contention.
pub(super) fn spells(notes: &Notes) -> &AtomicU32 {
    &notes.counts[0]
}

/// How often in a row it soon did again.
pub(super) fn short_spells(notes: &Notes) -> &AtomicU32 {
    &notes.counts[1]
}

/// How many wakes at once have paid, of the locks that share the key's bucket.
pub(super) fn wakes_ahead(key: Key) -> &'static AtomicU32 {
    &lot::advice(key)[0]
}

/// What looks before a sleep have paid (`patience`).
pub(super) fn looks(key: Key) -> &'static AtomicU32 {
    &lot::advice(key)[1]
}
