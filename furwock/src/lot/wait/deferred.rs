//! Wakes from signal handlers (ORDERING.md, D-1).
//!
//! futex(2) may be called from a handler at any moment. Here the handler may have come upon its own
//! thread inside a bucket lock, and would wait for itself. So each thread counts the locks that it
//! holds or is taking; a handler that finds any leaves its wake to that thread, which carries it
//! out as soon as it holds none: a few instructions after the handler has returned.
//!
//! Everything here is between a thread and its own handlers, which end before it goes on.

use crate::lot::bucket::{lock, wake_in_handler};
use crate::lot::node::Key;
use crate::sys::memory;
use crate::sys::thread::{has_released, holds, slot, will_hold};
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Copy)]
#[repr(C)]
struct Wake {
    key: Key,
    count: u32,
    bitset: u32,
}

/// Handlers that come upon the same few instructions can leave this many wakes: a handler may wake
/// many words. Pages that aren't needed aren't touched.
const MOST: usize = (1 << 16) / size_of::<Wake>() - 1;

/// A thread's deferred wakes, mapped with the first of them and unmapped once they are carried out:
/// a thread that ends leaves nothing behind. Zero is an empty one.
#[repr(C)]
struct Deferred {
    len: AtomicUsize,
    wakes: [Cell<Wake>; MOST],
}

/// The calling thread's, if it has any.
fn known<'thread>() -> Option<&'thread Deferred> {
    // SAFETY: null, or what `leave` mapped. Only `run` unmaps it, in the thread, whose handlers
    // have ended by then and find none from then on.
    unsafe { slot().deferred.load(Ordering::Relaxed).cast::<Deferred>().as_ref() }
}

/// Whether the caller is a handler that may take no lock.
#[inline]
pub(crate) fn may_not_lock() -> bool {
    holds()
}

/// Wakes on behalf of a handler that came upon its own thread in here: at once, if it can have the
/// lock that it needs, which is nearly always another than the thread's; otherwise by leaving it to
/// the thread. (A handler that blocks until the woken have answered had better find the lock.)
/// Returns how many were woken; `None` if the caller is no such handler, and is to do it itself.
#[inline]
pub(crate) fn wake_instead(key: Key, count: usize, bitset: u32) -> Option<usize> {
    if !may_not_lock() {
        return None;
    }
    wake_in_handler(key, count, bitset).or_else(|| leave(key, count, bitset).then_some(0))
}

/// Leaves a wake to the interrupted thread, if the caller is a handler that may take no lock.
/// `false` if it isn't (or if there is no memory to leave it in).
#[inline]
pub(crate) fn leave_wake(key: Key, count: usize, bitset: u32) -> bool {
    may_not_lock() && leave(key, count, bitset)
}

#[cold]
fn leave(key: Key, count: usize, bitset: u32) -> bool {
    if known().is_none() {
        let Some(page) = memory::map_zeroed(size_of::<Deferred>()) else { return false };
        let (null, new) = (core::ptr::null_mut(), page.as_ptr().cast());
        let place = &slot().deferred;
        if place.compare_exchange(null, new, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            // A handler interrupted this one, and mapped one too.
            // SAFETY: mapped above, and published nowhere.
            unsafe { memory::unmap(page, size_of::<Deferred>()) };
        }
    }
    let Some(deferred) = known() else { return false };
    // A handler that interrupts this one takes the next place, and is done with it first.
    let index = deferred.len.fetch_add(1, Ordering::Relaxed);
    let Some(place) = deferred.wakes.get(index) else {
        deferred.len.fetch_sub(1, Ordering::Relaxed);
        // One of those already there may do for both.
        let same = deferred.wakes.iter().find(|place| {
            let wake = place.get();
            wake.key == key && wake.bitset == bitset
        });
        return same.is_some_and(|place| {
            place.set(Wake { key, count: u32::MAX, bitset });
            true
        });
    };
    place.set(Wake { key, count: u32::try_from(count).unwrap_or(u32::MAX), bitset });
    slot().on_release.set(Some(run));
    true
}

/// Carries them out, in the order in which they were left. The thread holds no lock, but goes on as
/// if it did: its handlers leave what they have, on other pages.
#[cold]
fn run() {
    loop {
        will_hold();
        slot().on_release.set(None);
        let page = slot().deferred.swap(core::ptr::null_mut(), Ordering::Relaxed);
        if let Some(page) = NonNull::new(page) {
            carry_out(page.cast());
        }
        if has_released().is_none() {
            return;
        }
    }
}

fn carry_out(page: NonNull<Deferred>) {
    // SAFETY: `leave` mapped it, and handlers don't find it any more.
    let deferred = unsafe { page.as_ref() };
    for place in &deferred.wakes[..deferred.len.load(Ordering::Relaxed)] {
        let Wake { key, count, bitset } = place.get();
        lock(key).choose_many(key, count as usize, bitset);
    }
    // SAFETY: as above.
    unsafe { memory::unmap(page.cast(), size_of::<Deferred>()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handler's wake that was left to its thread takes its page along.
    #[test]
    fn wakes_left_by_handlers_leave_nothing() {
        let (held, other) = (Key::word(1 << 20), Key::word(1 << 21));
        for _ in 0..2 {
            let bucket = lock(held);
            assert!(leave_wake(other, 1, 1));
            assert!(leave_wake(held, 1, 1));
            assert!(!slot().deferred.load(Ordering::Relaxed).is_null());
            drop(bucket);
            assert!(slot().deferred.load(Ordering::Relaxed).is_null());
            assert!(slot().on_release.get().is_none());
        }
    }
}
