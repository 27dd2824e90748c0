//! The facade's real side: `core`'s atomics and the kernel's futex.

use crate::sys;
use crate::sys::clock::Deadline;
use crate::sys::futex::Sleep;
use crate::sys::robust_list::List;

pub(crate) use crate::sys::pi;
pub(crate) use core::hint::spin_loop;

pub(crate) mod atomic {
    pub(crate) use core::sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
        AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}

/// `core`'s cell behind the model checker's interface.
#[derive(Debug, Default)]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Whether a model checker has found a failure and unwinds: there is none.
#[inline(always)]
pub(crate) const fn checker_has_failed() -> bool {
    false
}

/// A sequentially consistent fence.
///
/// On x86-64 a locked no-op on the stack, which orders stores before later loads as `mfence` does
/// and costs about half.
#[inline(always)]
pub(crate) fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: adds nothing to the word at the stack pointer; the compiler may not move memory
    // accesses across it, since neither `nomem` nor `readonly` is claimed.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    core::sync::atomic::fence(atomic::Ordering::SeqCst);
}

/// A full fence right after a read-modify-write of any ordering, which on x86-64 is one itself.
#[inline(always)]
pub(crate) fn full_fence_after_rmw() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    core::sync::atomic::compiler_fence(atomic::Ordering::SeqCst);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    full_fence();
}

/// The processor that this thread runs on, or ran on a moment ago.
#[inline]
pub(crate) fn current_cpu() -> u32 {
    sys::topology::current_cpu()
}

/// Sleeps while `word` holds `expected`, at most until `deadline`. May end early at any time.
#[inline]
pub(crate) fn kernel_wait(
    word: &atomic::AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    sys::futex::wait(word, expected, deadline)
}

/// The same for a sleep that may be long: signal handlers are let in, and may leave it for good.
#[inline(always)]
pub(crate) fn kernel_sleep(
    word: &atomic::AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    sys::signals::open_for(|| sys::futex::sleep(word, expected, deadline))
}

/// The same, but a signal handler with `SA_RESTART` doesn't end it even if there is a deadline.
pub(crate) fn kernel_sleep_restarting(
    word: &atomic::AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    sys::signals::open_for(|| sys::futex::sleep_restarting(word, expected, deadline))
}

/// Whether a signal handler has come that would have ended the sleep, and waits for the end of the
/// caller's call.
#[inline]
pub(crate) fn is_sleep_ended(by_any: bool) -> bool {
    sys::signals::is_call_ended(by_any)
}

/// Wakes one thread that sleeps on `word`.
///
/// The word's owner may have left meanwhile; its memory is type-stable, so that a wake too many is
/// all that can come of it.
#[inline]
pub(crate) fn kernel_wake_one(word: &atomic::AtomicU32) {
    sys::futex::wake(word, 1);
}

/// Wakes one thread that sleeps on each word, in the same way.
#[inline]
pub(crate) fn kernel_wake_two(first: &atomic::AtomicU32, second: &atomic::AtomicU32) {
    sys::futex::wake_two(first, second);
}

/// Wakes all threads that sleep on `word`, in the same way.
#[inline]
pub(crate) fn kernel_wake_all(word: &atomic::AtomicU32) {
    sys::futex::wake(word, i32::MAX as u32);
}

/// `kernel_wait` on a word that other processes may map too.
#[inline]
pub(crate) fn shared_wait(
    word: &atomic::AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    sys::futex::wait_shared(word, expected, deadline)
}

/// Stores `new` (0 or all ones) and wakes `count` sleepers, in one step that a kill can't cut.
#[inline]
pub(crate) fn shared_store_and_wake(word: &atomic::AtomicU32, new: u32, count: u32) {
    sys::futex::store_and_wake_shared(word, new, count);
}

/// Whether the kernel lets a thread release a robust word and forget it in one step.
#[inline]
pub(crate) fn unlock_is_one_step() -> bool {
    sys::robust_unlock::is_there()
}

/// Releases a robust word that holds `tid` and nothing else, and ends the list's pending entry; or
/// says what it holds.
#[inline]
pub(crate) fn robust_unlock(word: &atomic::AtomicU32, tid: u32, list: List) -> Result<(), u32> {
    list.unlock(word, tid)
}

/// Releases a robust word, wakes one sleeper, and ends the list's pending entry. A killed thread
/// has done the first two, or neither.
#[cold]
pub(crate) fn robust_unlock_and_wake(word: &atomic::AtomicU32, list: List) {
    if !list.unlock_and_wake(word) {
        shared_store_and_wake(word, 0, 1);
        list.end();
    }
}
