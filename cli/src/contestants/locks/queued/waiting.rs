//! How a thread of a queue lock waits for its turn, and how it is given the turn.

use super::platform::{AtomicU32, Ordering, Spell, kernel_wait, kernel_wake, spin_loop};

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
            kernel_wait(word, PARKED);
        }
    }

    fn grant(word: &AtomicU32) {
        if word.swap(GRANTED, Ordering::AcqRel) == PARKED {
            kernel_wake(word);
        }
    }
}

/// Spins for the time of a context switch; true if the word was granted meanwhile.
pub fn spun(word: &AtomicU32) -> bool {
    let mut spell = Spell::of_ns(SPIN_NS);
    while word.load(Ordering::Acquire) == WAITS {
        if spell.is_over() {
            return false;
        }
        spin_loop();
    }
    true
}
