//! The kernel's own calls, for comparison.

use std::sync::atomic::AtomicU32;

/// futex(2) on a private word.
pub fn futex(word: &AtomicU32, op: i32, val: u32, val2: usize, other: Option<&AtomicU32>) -> i64 {
    let other = other.map_or(std::ptr::null_mut(), AtomicU32::as_ptr);
    let op = op | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: live words; val2 is a number or a null timeout.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, val, val2, other, 0) }
}

/// `struct futex_waitv`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Waitv {
    pub val: u64,
    pub uaddr: u64,
    pub flags: u32,
    reserved: u32,
}

impl Waitv {
    pub fn new(word: &AtomicU32, val: u32) -> Self {
        let private_32 = libc::FUTEX_PRIVATE_FLAG as u32 | 2;
        let uaddr = word.as_ptr().expose_provenance() as u64;
        Self { val: val.into(), uaddr, flags: private_32, reserved: 0 }
    }
}

/// futex_waitv(2), without a timeout.
pub fn waitv(words: &[Waitv]) -> i64 {
    const SYS_FUTEX_WAITV: libc::c_long = 449;
    // SAFETY: live words.
    unsafe { libc::syscall(SYS_FUTEX_WAITV, words.as_ptr(), words.len(), 0, 0, 0) }
}

/// Binds the calling thread to a processor.
pub fn pin(processor: usize) {
    // SAFETY: a set of this function's own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}
