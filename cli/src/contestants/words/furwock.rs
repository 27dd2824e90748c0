//! The crate's operations.

use std::sync::atomic::AtomicU32;

use ::furwock::futex::{self, AnyWaited, Expected, Registration, Waited};
use ::furwock::shared;

use super::{Furwock, FurwockShared, FurwockTable, ManyWords, Words};

impl Words for Furwock {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        std::hint::black_box(futex::wait(word, value, None)) != Waited::Mismatch
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        futex::wake(word, count)
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        futex::requeue(from, to, 0, count).moved
    }
}

impl Words for FurwockTable {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        std::hint::black_box(furwock::unstable::wait_in_bucket(word, value, None))
            != Waited::Mismatch
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        futex::wake(word, count)
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        Furwock::requeue(from, to, count)
    }
}

impl Words for FurwockShared {
    #[inline]
    fn wait(word: &AtomicU32, value: u32) -> bool {
        // Whatever else it returns, callers look again.
        let waited = std::hint::black_box(shared::wait(word, value, None));
        !matches!(waited, Ok(shared::Waited::Mismatch))
    }

    #[inline]
    fn wake(word: &AtomicU32, count: usize) -> usize {
        shared::wake(word, count).unwrap_or(0)
    }

    #[inline]
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize {
        shared::requeue(from, to, 0, count).map_or(0, |requeued| requeued.moved)
    }
}

impl ManyWords for Furwock {
    type Waiter<'w> = Registration<'w>;

    fn too_many(_words: usize) -> Option<String> {
        None
    }

    fn waiter(words: &[AtomicU32]) -> Registration<'_> {
        Registration::new(words.iter().map(|word| Expected::new(word, 0)).collect())
    }

    #[inline]
    fn wait_any(waiter: &mut Registration<'_>) -> Option<usize> {
        match waiter.wait(None) {
            AnyWaited::Woken(at) | AnyWaited::Mismatch(at) => Some(at),
            AnyWaited::TimedOut => None,
        }
    }
}
