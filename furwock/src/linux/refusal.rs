//! What is answered for a program that believes it is calling the kernel: a wait that the kernel
//! would refuse since its word holds another value. Everything else is the kernel's to do.
//!
//! A wait that sleeps is as fast in the kernel as a sleep can be, and a wake may concern threads
//! that wait with a system call of their own, which only the kernel knows. The refusal is what a
//! lock built on futex(2) meets again and again; how long it takes decides how fast that lock is
//! (`aside`).

use super::operation::{WAIT, WAKE};
use super::{aside, user_memory};

/// Whether the kernel would refuse the futex(2) call with `EAGAIN`. A thread that is refused at a
/// word that it locks and unlocks pauses first. All other calls are to go to the kernel.
///
/// Any address is allowed, as for the call itself.
#[inline(always)]
pub(crate) fn refuses(
    word: *const u32,
    op: i32,
    value: u32,
    timeout: *const libc::timespec,
) -> bool {
    match op {
        WAIT if timeout.is_null() && user_memory::holds_another(word, value) => {
            aside::refused_at(word);
            true
        }
        WAKE => {
            aside::wakes_at(word);
            false
        }
        _ => false,
    }
}
