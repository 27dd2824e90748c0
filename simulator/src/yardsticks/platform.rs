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

/// Looks at a word until it is as a thread wants it. A thread that has waited for long looks less
/// often, each sixteenth of the time that it has waited, so that the host has not as many looks to
/// simulate as a real machine has to make: a hand-over to it is late by half of [`LOOK_MAX_NS`] at
/// most, on average.
pub struct Looks {
    began_ns: u64,
}

const LOOK_MAX_NS: u64 = 160;

impl Looks {
    pub fn begin() -> Self {
        Looks { began_ns: machine::virtual_ns() }
    }

    /// Between two looks.
    pub fn pause(&self) {
        spin_loop();
        let waited_ns = machine::virtual_ns() - self.began_ns;
        if waited_ns >= 32 {
            machine::work_ns((waited_ns / 16).min(LOOK_MAX_NS));
        }
    }
}
