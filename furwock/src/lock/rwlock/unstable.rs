//! Of the rwlock: what the preload needs, which can't know which thread calls it, nor in which way
//! it is inside. Unstable.

use super::RawRwLock;
use super::settle::settle_at;
use super::slots;
use super::state::{
    self, Cause, ONE_READER, is_to_be_settled, is_to_be_settled_by_reader, is_written,
    may_be_published, readers, written,
};
use crate::lock::options::{Options, Status};
use crate::lot;
use crate::prim::atomic::Ordering;

/// Enters as a reader if nothing is in the way, by the word or by a slot. Acquire on success. False
/// may mean nothing: the caller takes another way then.
#[inline(always)]
pub fn read_fast(lock: &RawRwLock) -> bool {
    lock.read_fast()
}

/// Enters a free lock as a reader past sleepers, for a caller whose `read_fast` has just failed.
/// Acquire on success. False may mean nothing: the caller takes another way then.
///
/// Takes no lock: a signal handler may come upon it, and leave it, at any instruction.
#[inline(always)]
pub fn read_past_sleepers(lock: &RawRwLock) -> bool {
    lock.read_past_sleepers()
}

/// The same as the writer, for a caller whose `write_fast_as` has just failed; `tid` is the
/// caller's thread id.
#[inline(always)]
pub fn write_past_sleepers_as(lock: &RawRwLock, tid: u32) -> bool {
    lock.write_past_sleepers(tid)
}

/// Enters as a reader as `options` has it, for a caller whose `read_fast` and `read_past_sleepers`
/// have just failed: without another such try, so that a thread that meets others all the time
/// notices. `None` at the deadline. Acquire.
#[inline]
pub fn read_contended(lock: &RawRwLock, options: &Options) -> Option<Status> {
    lock.read_contended(options)
}

/// The same as the writer, for a caller whose `write_fast_as` and `write_past_sleepers_as` have
/// just failed.
#[inline]
pub fn write_contended(lock: &RawRwLock, options: &Options) -> Option<Status> {
    lock.write_contended(options)
}

/// `lock_shared_with`, with its slow path inlined up to the wait.
#[inline(always)]
pub fn read_with(lock: &RawRwLock, options: &Options) -> Option<Status> {
    if lock.read_fast() { Some(Status::FAST) } else { lock.read_slow_inlined(options) }
}

/// `lock_exclusive_with`, with its slow path inlined up to the wait.
#[inline(always)]
pub fn write_with(lock: &RawRwLock, options: &Options) -> Option<Status> {
    if lock.write_fast_as(lot::tid()) {
        Some(Status::FAST)
    } else {
        lock.write_slow_inlined(options)
    }
}

/// Enters as the writer if no other thread is using the lock; `tid` is the caller's thread id.
/// Acquire on success. False may mean nothing: the caller takes another way then.
#[inline(always)]
pub fn write_fast_as(lock: &RawRwLock, tid: u32) -> bool {
    lock.write_fast_as(tid)
}

/// Leaves as a reader that published itself. False if the caller isn't one. Calls nothing, but
/// where a writer sleeps for it.
#[inline(always)]
pub fn unlock_published(lock: &RawRwLock) -> bool {
    lock.unlock_published()
}

/// Forgets readers that never left, as no thread uses the lock any more: before its memory goes to
/// another use without the lock being dropped.
pub fn forget_readers(lock: &RawRwLock) {
    lock.forget_readers();
}

/// Whether so many readers are inside that no more can be counted. One more waits.
pub fn is_full(lock: &RawRwLock) -> bool {
    state::room(lock.word.load(Ordering::Relaxed)) == 0
}

/// Leaves in the place of any reader, which may be another thread than the caller. Release. False
/// if there is none.
///
/// For callers that can't know which thread calls: `unlock_shared` relies on its caller being a
/// reader. They count the reads of each thread ([`reads`](crate::unstable::reads)), the one that
/// ends here until this returns.
///
/// Once a thread has given back a read without having one, no lock of the process is biased any
/// more. If the lock is biased then, and the reader reads or leaves at that moment, the two may
/// take one another's change of the slot for their own: see ORDERING.md, "Known to be broken".
#[cfg(not(any(loom, shuttle)))]
pub fn unlock_shared_of_any(lock: &RawRwLock) -> bool {
    if lock.unlock_published() {
        return true;
    }
    if !crate::sys::thread::reads() {
        slots::note_given_back_by_another();
    }
    let pointer = &raw const lock.word;
    let mut word = lock.word.load(Ordering::Relaxed);
    while readers(word) != 0 {
        let left = word - ONE_READER;
        match lock.exchange(word, left, Ordering::Release) {
            Ok(_) => {
                if is_to_be_settled_by_reader(left) {
                    settle_at(pointer, Cause::Left);
                }
                return true;
            }
            Err(now) => word = now,
        }
    }
    if !may_be_published(word) {
        return false;
    }
    slots::note_given_back_by_another();
    while let Err(now) = lock.exchange(word, state::revoked(word), Ordering::Relaxed) {
        word = now;
    }
    slots::withdraw_anothers(lock.address())
}

/// Leaves in the place of any counted reader, unless that may let a waiter go on: then false, and
/// nothing done. Release.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn unlock_counted_quietly(lock: &RawRwLock) -> bool {
    leave_quietly(
        lock,
        |word| readers(word) != 0,
        |word| word - ONE_READER,
        is_to_be_settled_by_reader,
    )
}

/// Leaves as the writer, unless that may let a waiter go on: then false, and nothing done. Release.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn unlock_exclusive_quietly(lock: &RawRwLock) -> bool {
    leave_quietly(lock, is_written, written, is_to_be_settled)
}

/// Releases what `held` says is held, as `left` says, unless `settles` says that others are to be
/// seen to then.
#[cfg(not(any(loom, shuttle)))]
#[inline]
fn leave_quietly(
    lock: &RawRwLock,
    held: impl Fn(u64) -> bool,
    left: impl Fn(u64) -> u64,
    settles: impl Fn(u64) -> bool,
) -> bool {
    let mut word = lock.word.load(Ordering::Relaxed);
    while held(word) && !settles(left(word)) {
        match lock.exchange(word, left(word), Ordering::Release) {
            Ok(_) => return true,
            Err(now) => word = now,
        }
    }
    false
}

/// Bits of the word, for a program that looks at it from outside.
pub mod bits {
    use crate::lock::rwlock::state;

    /// The kernel's id of the thread that has the lock to itself, or may upgrade. In a mutex's
    /// word, too.
    pub const OWNER: u64 = state::OWNER;
    /// A writer has the lock.
    pub const WRITER: u64 = state::WRITER;
    /// The upgradable reader is about to write.
    pub const UPGRADING: u64 = state::UPGRADING;
    /// Readers put the lock into slots.
    pub const BIASED: u64 = state::BIASED;
    /// Readers may still be in slots.
    pub const REVOKED: u64 = state::REVOKED;
    /// How many readers are counted.
    pub const READERS: u64 = state::READERS;
    /// The lowest bit of `READERS`.
    pub const ONE_READER: u64 = state::ONE_READER;
}
