//! How a thread of a queue lock waits for its turn, and how it is given the turn.

use machine::atomic::{AtomicU32, Ordering};
use machine::hint::spin_loop;
use machine::{kernel_wait, kernel_wake, virtual_ns};

/// What the word of a waiting thread holds.
pub const WAITS: u32 = 0;
pub const GRANTED: u32 = 1;
const PARKED: u32 = 2;

/// How long a thread spins before it parks: LiTL's authors took what a context switch took on their
/// machine, 9 us.
const SPIN_NS: u64 = 9_000;

pub trait Waiting: 'static {
    /// Returns once the word has been granted.
    fn wait(word: &AtomicU32);
    fn grant(word: &AtomicU32);
}

/// Looks at the word until it changes.
pub struct Spinning;

impl Waiting for Spinning {
    fn wait(word: &AtomicU32) {
        while word.load(Ordering::Acquire) == WAITS {
            spin_loop();
        }
    }

    fn grant(word: &AtomicU32) {
        word.store(GRANTED, Ordering::Release);
    }
}

/// Spins for about a context switch and then sleeps. The releasing thread calls the kernel only if
/// the waiter has said that it sleeps.
pub struct SpinThenPark;

impl Waiting for SpinThenPark {
    fn wait(word: &AtomicU32) {
        if spun(word) {
            return;
        }
        let parked =
            word.compare_exchange(WAITS, PARKED, Ordering::Acquire, Ordering::Acquire).is_ok();
        while parked && word.load(Ordering::Acquire) == PARKED {
            kernel_wait(word, PARKED, None);
        }
    }

    fn grant(word: &AtomicU32) {
        if word.swap(GRANTED, Ordering::AcqRel) == PARKED {
            kernel_wake(word, 1);
        }
    }
}

/// The same as LiTL has it (Guiroux, Lachaize, Quéma, 2016): the releasing thread calls the kernel
/// each time, whether or not the waiter sleeps.
pub struct SpinThenParkAlwaysWoken;

impl Waiting for SpinThenParkAlwaysWoken {
    fn wait(word: &AtomicU32) {
        if spun(word) {
            return;
        }
        while word.load(Ordering::Acquire) == WAITS {
            kernel_wait(word, WAITS, None);
        }
    }

    fn grant(word: &AtomicU32) {
        word.store(GRANTED, Ordering::Release);
        kernel_wake(word, 1);
    }
}

/// Spins for the time of a context switch; true if the word was granted meanwhile.
fn spun(word: &AtomicU32) -> bool {
    let end = virtual_ns() + SPIN_NS;
    while word.load(Ordering::Acquire) == WAITS {
        if virtual_ns() >= end {
            return false;
        }
        spin_loop();
    }
    true
}
