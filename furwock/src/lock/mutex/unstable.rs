//! Of the mutex: the tries of which the preload's fast paths are made. Unstable.

use super::state::{FREE, OWNER};
use crate::lock::{Options, RawMutex, Status};
use crate::prim::atomic::Ordering;

/// `lock_with` for a caller that has just tried in vain: without another try at first. Acquire.
pub fn lock_contended(mutex: &RawMutex, options: &Options) -> Option<Status> {
    mutex.lock_slow(options)
}

/// `try_lock` by a caller that knows its thread's id already. Acquire on success.
#[inline]
pub fn try_lock_as(mutex: &RawMutex, tid: u32) -> bool {
    mutex.try_lock_as(tid)
}

/// Releases the mutex if its word says no more than that `tid` holds it. Calls nothing. Release.
#[inline]
pub fn try_unlock_as(mutex: &RawMutex, tid: u32) -> bool {
    mutex.word.compare_exchange(tid, FREE, Ordering::Release, Ordering::Relaxed).is_ok()
}

/// `try_lock_as` without a locked instruction. False if the word says anything: then the caller
/// takes the ordinary way.
///
/// # Safety
/// The process has one thread.
#[inline]
pub unsafe fn try_lock_alone(mutex: &RawMutex, tid: u32) -> bool {
    let free = mutex.word.load(Ordering::Relaxed) == FREE;
    if free {
        mutex.word.store(tid, Ordering::Relaxed);
    }
    free
}

/// `unlock` without a locked instruction. False if there is more to do than to release: then the
/// caller takes the ordinary way.
///
/// # Safety
/// The process has one thread.
#[inline]
pub unsafe fn try_unlock_alone(mutex: &RawMutex) -> bool {
    let plain = mutex.word.load(Ordering::Relaxed) & !OWNER == 0;
    if plain {
        mutex.word.store(FREE, Ordering::Relaxed);
    }
    plain
}
