//! `ReentrantMutex`: the raw mutex behind lock_api's reentrant guards.

use crate::lock::RawMutex;
use crate::sys::thread;
use core::num::NonZeroUsize;

/// A mutual exclusion lock that its owner may lock again: `lock_api`'s interface over [`RawMutex`].
///
/// Since its owner may have several guards, they give shared access: for writing, put a `Cell` or a
/// `RefCell` into it. The lock is free again when the last guard is dropped. There is no poisoning.
/// Locking acquires, unlocking releases, both the outermost ones.
///
/// A child of a thread that forks with the lock held owns it, too.
///
/// | to | call |
/// |---|---|
/// | make one, also in a `static` | [`new`] |
/// | lock | [`lock`], [`try_lock`], [`try_lock_for`], [`try_lock_until`] |
/// | ask | [`is_locked`], [`is_owned_by_current_thread`] |
/// | have the value without locking | [`get_mut`], [`into_inner`] |
/// | hand the lock over, keep a part locked | [`unlock_fair`], [`map`] |
///
/// # Panics
/// A thread that locks it more than `usize::MAX` times panics.
///
/// # Examples
/// ```
/// use furwock::ReentrantMutex;
/// use std::cell::Cell;
///
/// let depth = ReentrantMutex::new(Cell::new(0));
/// let outer = depth.lock();
/// let inner = depth.lock();
/// inner.set(outer.get() + 1);
/// drop(inner);
/// assert_eq!(outer.get(), 1);
/// ```
///
/// [`new`]: lock_api::ReentrantMutex::new
/// [`lock`]: lock_api::ReentrantMutex::lock
/// [`try_lock`]: lock_api::ReentrantMutex::try_lock
/// [`try_lock_for`]: lock_api::ReentrantMutex::try_lock_for
/// [`try_lock_until`]: lock_api::ReentrantMutex::try_lock_until
/// [`is_locked`]: lock_api::ReentrantMutex::is_locked
/// [`is_owned_by_current_thread`]: lock_api::ReentrantMutex::is_owned_by_current_thread
/// [`get_mut`]: lock_api::ReentrantMutex::get_mut
/// [`into_inner`]: lock_api::ReentrantMutex::into_inner
/// [`unlock_fair`]: lock_api::ReentrantMutexGuard::unlock_fair
/// [`map`]: lock_api::ReentrantMutexGuard::map
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;

/// What `ReentrantMutex::lock` returns; dropping the last one unlocks.
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// A guard of a part of what a reentrant mutex protects.
pub type MappedReentrantMutexGuard<'a, T> =
    lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// How [`ReentrantMutex`] tells threads apart: by the address of what furwock keeps for each, which
/// a fork doesn't change.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawThreadId;

// SAFETY: the slot is in the thread's own storage, so that no two have one at the same time.
unsafe impl lock_api::GetThreadId for RawThreadId {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to say const new()")]
    const INIT: Self = RawThreadId;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        NonZeroUsize::from(core::ptr::NonNull::from(thread::slot()).addr())
    }
}
