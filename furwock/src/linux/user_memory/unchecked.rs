//! No table of instructions for this processor: the kernel is asked before every access.

use super::Fault;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

pub(super) fn install() -> bool {
    false
}

macro_rules! loads {
    ($($load:ident: $atomic:ty => $word:ty),* $(,)?) => {$(
        pub(super) unsafe fn $load(word: *const $word) -> Result<$word, Fault> {
            // SAFETY: the kernel has just read it.
            Ok(unsafe { <$atomic>::from_ptr(word.cast_mut()) }.load(Ordering::SeqCst))
        }
    )*};
}

loads! {
    load8: AtomicU8 => u8,
    load16: AtomicU16 => u16,
    load32: AtomicU32 => u32,
    load64: AtomicU64 => u64,
}

pub(super) unsafe fn compare_exchange(word: *mut u32, old: u32, new: u32) -> Result<u32, Fault> {
    // SAFETY: the kernel has just written to it.
    let word = unsafe { AtomicU32::from_ptr(word) };
    match word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(found) | Err(found) => Ok(found),
    }
}

pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Result<(), Fault> {
    // SAFETY: the kernel has just read from both of its pages.
    unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) };
    Ok(())
}
