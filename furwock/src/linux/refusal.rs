//! What is answered for a program that believes it is calling the kernel: a wait that the kernel
//! would refuse since its word holds another value. Everything else is the kernel's to do.
//!
//! A wait that sleeps is as fast in the kernel as a sleep can be, and a wake may concern threads
//! that wait with a system call of their own, which only the kernel knows. The refusal is what a
//! lock built on futex(2) meets again and again; how long it takes decides how fast that lock is
//! (`aside`). Where all threads share one processor, one that would sleep yields first, as the
//! program might have been interrupted before the call: the word may then hold another value.

use super::operation::{WAIT, WAKE};
use super::{aside, user_memory};
use crate::lock::yields::{self, Balance};
use crate::lot;

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
        WAIT if timeout.is_null() => {
            if user_memory::holds_another(word, value) {
                aside::refused_at(word);
                return true;
            }
            lot::seems_single() && changes_soon(word, value)
        }
        WAKE => {
            aside::wakes_at(word);
            false
        }
        _ => false,
    }
}

/// Lets the threads run first with which this one shares its processor: then it may be refused.
#[cold]
fn changes_soon(word: *const u32, value: u32) -> bool {
    static BALANCE: Balance = Balance::new();
    yields::once(&BALANCE, || user_memory::holds_another(word, value))
}
