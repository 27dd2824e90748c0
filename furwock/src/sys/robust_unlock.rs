//! Releasing a robust word in one step with the end of the pending entry (Linux 7.2; RB-5).
//!
//! A thread that releases a robust word is the word's user until it has cleared
//! `list_op_pending`: if it is killed before that, the kernel looks at the entry's word once more.
//! Meanwhile another thread may have taken the lock, destroyed it and reused its memory. If what
//! stands there now happens to equal the killed thread's id, the kernel sets OWNER_DIED in it.
//!
//! Only the kernel can close this window, and Linux 7.2 does, on x86-64:
//!
//! - A function of the vDSO replaces a thread id by 0 and clears the slot. The kernel knows its
//!   instructions: it finishes the second step for a thread that it finds between the two, before
//!   that dies of a signal.
//! - `FUTEX_WAKE` with `FUTEX_ROBUST_UNLOCK` stores 0, clears the slot and wakes, in one call. If
//!   threads remain asleep, it may store WAITERS instead of 0.
//!
//! Both have come together, so that a vDSO without the function means that neither is asked for:
//! older kernels and sandboxes see the same calls as before.

use super::futex::futex;
use super::vdso;
use core::ffi::c_void;
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// If the word holds the id, stores 0 and clears the slot. Returns what the word held.
type TryUnlock = unsafe extern "C" fn(word: *mut u32, tid: u32, pending: *mut usize) -> u32;

const NAME: &[u8] = b"__vdso_futex_robust_list64_try_unlock";
const ROBUST_UNLOCK: i32 = 512;

/// Null if there is none, or `look` hasn't been called.
static TRY_UNLOCK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Looks for the vDSO's function, the first time.
pub(crate) fn look() {
    static LOOKED: AtomicBool = AtomicBool::new(false);
    if !LOOKED.load(Ordering::Relaxed) {
        let function = vdso::function(NAME).map_or(null_mut(), <*const c_void>::cast_mut);
        TRY_UNLOCK.store(function, Ordering::Relaxed);
        LOOKED.store(true, Ordering::Relaxed);
    }
}

/// Whether the kernel closes the window described above; `look` has been called.
#[inline]
pub(crate) fn is_there() -> bool {
    !TRY_UNLOCK.load(Ordering::Relaxed).is_null()
}

/// Replaces `tid` by 0 and clears `pending`; or does nothing and returns what the word holds. A
/// release, if it succeeds. `None` if the kernel has no such function.
#[inline]
pub(crate) fn try_unlock(
    word: &AtomicU32,
    tid: u32,
    pending: &AtomicUsize,
) -> Option<Result<(), u32>> {
    let function = TRY_UNLOCK.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    // SAFETY: the vDSO's function of that name has this type, and stays mapped.
    let function = unsafe { transmute::<*mut c_void, TryUnlock>(function) };
    // SAFETY: both are atomics, live in this call, which may be written through shared references.
    let held = unsafe { function(word.as_ptr(), tid, pending.as_ptr()) };
    Some(if held == tid { Ok(()) } else { Err(held) })
}

/// Stores 0, or WAITERS, clears `pending` and wakes one waiter of the shared `word`: `true`. Or
/// does nothing.
#[cold]
pub(crate) fn unlock_and_wake(word: &AtomicU32, pending: &AtomicUsize) -> bool {
    if !is_there() {
        return false;
    }
    let wake = libc::FUTEX_WAKE | ROBUST_UNLOCK;
    // SAFETY: both words are atomics, live in this call. The second is the slot that the operation
    // clears, and not a futex.
    _ = unsafe { futex(word.as_ptr(), wake, 1, 0, pending.as_ptr().cast(), 0) };
    // The slot says what was done, whatever the call has returned.
    pending.load(Ordering::Relaxed) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TID: u32 = 7;

    fn word_and_slot(word: u32) -> (AtomicU32, AtomicUsize) {
        look();
        (AtomicU32::new(word), AtomicUsize::new(1))
    }

    #[test]
    fn an_own_word_is_released_with_the_slot() {
        let (word, pending) = word_and_slot(TID);
        let result = try_unlock(&word, TID, &pending);
        let after = (word.into_inner(), pending.into_inner());
        match is_there() {
            true => assert_eq!((result, after), (Some(Ok(())), (0, 0))),
            false => assert_eq!((result, after), (None, (TID, 1))),
        }
    }

    #[test]
    fn a_word_with_more_in_it_stays() {
        let held = TID | libc::FUTEX_WAITERS;
        let (word, pending) = word_and_slot(held);
        let result = try_unlock(&word, TID, &pending);
        assert_eq!(result, is_there().then_some(Err(held)));
        assert_eq!((word.into_inner(), pending.into_inner()), (held, 1));
    }

    #[test]
    fn a_wake_releases_with_the_slot() {
        let held = TID | libc::FUTEX_WAITERS;
        let (word, pending) = word_and_slot(held);
        let done = unlock_and_wake(&word, &pending);
        let after = (word.into_inner(), pending.into_inner());
        assert_eq!(done, is_there());
        assert_eq!(after, if done { (0, 0) } else { (held, 1) });
    }
}
