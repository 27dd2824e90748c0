//! The facade's third side: a simulated machine's atomics and its kernel's futex, in virtual time.

use crate::sys::clock::Deadline;
use crate::sys::futex::Sleep;

pub(crate) use super::native::{UnsafeCell, checker_has_failed};
pub(crate) use crate::sys::pi;
pub(crate) use crate::sys::topology::current_cpu;
pub(crate) use machine::hint::spin_loop;

pub(crate) mod atomic {
    pub(crate) use machine::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
        AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}

pub(crate) fn full_fence() {
    machine::atomic::fence(atomic::Ordering::SeqCst);
}

/// The machines' read-modify-writes are full fences, as x86-64's are.
pub(crate) fn full_fence_after_rmw() {}

pub(crate) fn kernel_wait(
    word: &atomic::AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    match machine::kernel_wait(word, expected, deadline.map(Deadline::virtual_ns)) {
        machine::Sleep::Ended => Sleep::Ended,
        machine::Sleep::TimedOut => Sleep::TimedOut,
    }
}

// There are no signal handlers.
pub(crate) use kernel_wait as kernel_sleep;
pub(crate) use kernel_wait as kernel_sleep_restarting;
pub(crate) use kernel_wait as shared_wait;

/// There are no signal handlers.
pub(crate) fn is_sleep_ended(_: bool) -> bool {
    false
}

pub(crate) fn kernel_wake_one(word: &atomic::AtomicU32) {
    machine::kernel_wake(word, 1);
}

pub(crate) fn kernel_wake_two(first: &atomic::AtomicU32, second: &atomic::AtomicU32) {
    kernel_wake_one(first);
    kernel_wake_one(second);
}

pub(crate) fn kernel_wake_all(word: &atomic::AtomicU32) {
    machine::kernel_wake(word, usize::MAX);
}

pub(crate) fn shared_store_and_wake(word: &atomic::AtomicU32, new: u32, count: u32) {
    word.swap(new, atomic::Ordering::AcqRel);
    machine::kernel_wake(word, count as usize);
}
