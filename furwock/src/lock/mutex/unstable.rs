//! Of the mutex: the tries of which the preload's fast paths are made. Unstable.

use super::state::{FREE, OWNER};
use crate::lock::contender::Contender;
use crate::lock::{Options, RawMutex, Status, interval};
use crate::prim::atomic::Ordering;
use crate::sys::thread;

/// For a caller that has done work of its own at a contention, such as recording it: mutexes and
/// rwlocks leave it out when they judge how short the program's sections are. `worked_ns` says for
/// how many nanoseconds; it is called only where that matters now.
#[inline]
pub fn leave_out(worked_ns: impl FnOnce() -> u64) {
    interval::leave_out(worked_ns);
}

/// `lock_with` for a caller that has just tried in vain: without another try at first. Acquire.
#[inline]
pub fn lock_contended(mutex: &RawMutex, options: &Options) -> Option<Status> {
    Contender::new(mutex, options).contend()
}

/// What the calling thread makes of a mutex's word as it takes it: its id and some bits more, or 0
/// if it hasn't asked for its id before. Calls nothing.
#[inline(always)]
pub fn known_claim() -> u32 {
    thread::known_claim()
}

/// Takes the mutex if its word is the free one of the calling thread's claim. Calls nothing.
/// Acquire on success.
#[inline]
pub fn try_lock_as(mutex: &RawMutex, claim: u32) -> bool {
    mutex.lock_as(claim).is_ok()
}

/// `try_lock_as` by the calling thread's own claim; not if it hasn't asked for its id before.
#[inline]
pub fn try_lock_known(mutex: &RawMutex) -> bool {
    mutex.lock_known().is_ok()
}

/// `try_lock` for a caller whose `try_lock_as` didn't take the mutex: without an exchange if it is
/// held. Acquire on success.
#[inline]
pub fn try_steal(mutex: &RawMutex) -> bool {
    mutex.try_steal(mutex.word.load(Ordering::Relaxed))
}

/// `try_steal` for a caller that waits otherwise: the same, but it looks at a mutex that is held
/// for a moment, as long as that has paid, and makes way as `make_way`. Takes no lock. Acquire on
/// success.
#[inline]
pub fn lock_soon(mutex: &RawMutex) -> bool {
    mutex.lock_soon(mutex.word.load(Ordering::Relaxed))
}

/// Lets waiters run that were woken, before a caller of `try_steal` that waits otherwise passes
/// them: on the only processor, now and then.
#[inline]
pub fn make_way(mutex: &RawMutex) {
    mutex.make_way(mutex.word.load(Ordering::Relaxed));
}

/// Releases the mutex if its word is the calling thread's claim. Calls nothing. Release.
#[inline]
pub fn try_unlock_as(mutex: &RawMutex, claim: u32) -> bool {
    mutex.unlock_as(claim).is_ok()
}

/// Releases the mutex if no waiter has to be woken. Takes no lock. Release.
#[inline]
pub fn try_unlock_quietly(mutex: &RawMutex) -> bool {
    mutex.try_unlock_seen(mutex.word.load(Ordering::Relaxed))
}

/// `unlock` for a caller whose other tries have just failed: without another at first. Release.
pub fn unlock_contended(mutex: &RawMutex) {
    mutex.unlock_slow(mutex.word.load(Ordering::Relaxed));
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
