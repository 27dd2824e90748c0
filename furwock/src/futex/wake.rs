//! `FUTEX_WAKE` and `FUTEX_WAKE_BITSET`.

use super::Word;
use crate::lot::{self, Key};

/// Wakes up to `count` waiters of `word`, those first that have waited longest. Returns how many.
///
/// Change the word first. May be called from a signal handler; one that has come upon its own thread
/// in the same bucket of the engine leaves the wake to that thread, and returns 0. (Tasks' wakers are called
/// here, and few are made for handlers: where tasks wait on the word, it is left to the thread as well.) With nobody waiting this is a fence and a load. Many threads are woken by
/// fan-out: the caller wakes a few, which wake the others.
#[inline]
pub fn wake<W: Word>(word: &W, count: usize) -> usize {
    wake_at(word.key(), count, lot::ANY)
}

/// Wakes all who wait on `word`. Returns how many.
#[inline]
pub fn wake_all<W: Word>(word: &W) -> usize {
    wake(word, usize::MAX)
}

/// Wakes up to `count` waiters of `word` that wait with a bitset that has a bit in common with
/// `bitset`. Who waits without one has all bits.
#[inline]
pub fn wake_bitset<W: Word>(word: &W, count: usize, bitset: u32) -> usize {
    wake_at(word.key(), count, bitset)
}

/// Wakes waiters of the word at this address: for callers to whom the word need not exist any more,
/// since a waiter may free it as soon as it has seen it change. Reads nothing there. A `bitset` of
/// `u32::MAX` wakes everybody.
#[inline]
pub fn wake_address(word: *const (), count: usize, bitset: u32) -> usize {
    wake_at(Key::word(word.addr()), count, bitset)
}

#[inline]
pub(crate) fn wake_at(key: Key, count: usize, bitset: u32) -> usize {
    if lot::is_empty(key) || count == 0 {
        return 0;
    }
    wake_waiting(key, count, bitset)
}

/// Whether anything waits at `key` at this moment. `false` in a handler that may take no lock.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn is_waited_at(key: Key) -> bool {
    if lot::is_empty(key) || lot::may_not_lock() {
        return false;
    }
    let locked = lot::lock(key);
    let mut at = locked.first(key);
    while let Some(waiter) = at.filter(|waiter| !locked.waits(*waiter)) {
        at = locked.after(waiter);
    }
    at.is_some()
}

#[cold]
fn wake_waiting(key: Key, count: usize, bitset: u32) -> usize {
    lot::wake_instead(key, count, bitset)
        .unwrap_or_else(|| lot::lock(key).choose_many(key, count, bitset))
}
