//! What the queue locks ask of the machine: the simulated one. The command, whose locks they are,
//! has its own.

pub use machine::atomic::{AtomicU32, Ordering};
pub use machine::hint::spin_loop;

pub(super) use super::{Padded, thread_index};

/// Returns at once if the word isn't `value`, and may return spuriously.
pub fn kernel_wait(word: &AtomicU32, value: u32) {
    machine::kernel_wait(word, value, None);
}

/// Wakes one thread that waits on the word.
pub fn kernel_wake(word: &AtomicU32) {
    machine::kernel_wake(word, 1);
}

/// Looks at the word again and again until `is` holds for it. Acquire.
pub fn spin_until(word: &AtomicU32, is: impl Fn(u32) -> bool) -> u32 {
    word.spin_until(Ordering::Acquire, is)
}

/// A length of virtual time that began when it was made. To ask costs nothing.
pub struct Spell {
    end_ns: u64,
}

impl Spell {
    pub fn of_ns(length_ns: u64) -> Self {
        Spell { end_ns: machine::virtual_ns() + length_ns }
    }

    pub fn is_over(&mut self) -> bool {
        machine::virtual_ns() >= self.end_ns
    }
}
