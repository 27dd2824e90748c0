//! `FUTEX_WAKE`.

use super::Word;
use crate::lot;

/// Wakes up to `count` threads that wait on `word`, those first that have waited longest. Returns
/// how many.
///
/// Change the word first. With nobody waiting this is a fence and a load. Many are woken by
/// fan-out: the caller wakes a few, which wake the others.
#[inline]
pub fn wake<W: Word>(word: &W, count: usize) -> usize {
    let key = word.key();
    if lot::is_empty(key) || count == 0 {
        return 0;
    }
    lot::lock(key).choose_many(key, count)
}

/// Wakes all threads that wait on `word`. Returns how many.
#[inline]
pub fn wake_all<W: Word>(word: &W) -> usize {
    wake(word, usize::MAX)
}
