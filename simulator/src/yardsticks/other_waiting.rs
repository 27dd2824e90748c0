//! Other ways to wait for a turn than the command's `waiting` has.

use machine::atomic::{AtomicU32, Ordering};

use super::platform::{kernel_wait, kernel_wake};
use super::waiting::{GRANTED, WAITS, Waiting, spun};

/// Looks at the word until it changes.
pub struct Spinning;

impl Waiting for Spinning {
    fn wait(word: &AtomicU32) {
        word.spin_until(Ordering::Acquire, |word| word != WAITS);
    }

    fn grant(word: &AtomicU32) {
        word.store(GRANTED, Ordering::Release);
    }
}

/// Spins and then parks as LiTL has it (Guiroux, Lachaize, Quéma, 2016): the releasing thread calls
/// the kernel each time, whether or not the waiter sleeps.
pub struct SpinThenParkAlwaysWoken;

impl Waiting for SpinThenParkAlwaysWoken {
    fn wait(word: &AtomicU32) {
        if spun(word) {
            return;
        }
        while word.load(Ordering::Acquire) == WAITS {
            kernel_wait(word, WAITS);
        }
    }

    fn grant(word: &AtomicU32) {
        word.store(GRANTED, Ordering::Release);
        kernel_wake(word);
    }
}
