//! Whose locks a process has. furwock asks a process of its own with its library preloaded: the
//! library decides by itself, and by nothing else, whether it serves a program.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::harness::file_of;
use crate::measuring::output;

#[derive(Serialize, Deserialize)]
pub struct Probe {
    /// The file that has pthread_mutex_lock.
    pub locks_from: String,
    /// Whether a mutex's word holds its owner's id, as furwock's does and glibc's doesn't.
    pub is_furwocks: bool,
}

pub fn print() -> Result<(), Failure> {
    let lock = libc::pthread_mutex_lock as *const () as *const libc::c_void;
    let probe = Probe { locks_from: file_of(lock), is_furwocks: owner_is_in_the_word() };
    output::print(&(serde_json::to_string(&probe).expect("plain data") + "\n"))
}

fn owner_is_in_the_word() -> bool {
    let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
    // SAFETY: an initialised mutex that only this thread knows. Its first word is its state, in
    // glibc's mutexes and in furwock's.
    let word = unsafe {
        libc::pthread_mutex_lock(mutex.get());
        let word = AtomicU32::from_ptr(mutex.get().cast::<u32>()).load(Ordering::Relaxed);
        libc::pthread_mutex_unlock(mutex.get());
        word
    };
    word == rustix::thread::gettid().as_raw_nonzero().get() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests run on glibc's locks; with furwock's, `tests/doctor.rs` asks the command.
    #[test]
    fn glibcs_mutexes_are_told_from_furwocks() {
        assert!(!owner_is_in_the_word());
    }
}
