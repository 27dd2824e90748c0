//! Of the rwlock: what the preload needs, which can't know which thread calls it, nor in which way
//! it is inside. Unstable.

use super::RawRwLock;
use super::settle::settle_left_by_readers;
use super::slots;
pub use super::state::PastSleepers;
use super::state::{
    self, ONE_READER, is_quietly_read, is_to_be_settled, is_to_be_settled_by_reader, is_written,
    may_be_published, readers, written,
};
use crate::lock::options::{Options, Status};
use crate::lot;
use crate::prim::atomic::Ordering;
#[cfg(not(any(loom, shuttle)))]
use crate::sys::signals;
use crate::sys::thread;

/// Enters as a reader if nothing is in the way, by the word or by a slot. Acquire on success. False
/// may mean nothing: the caller takes another way then.
///
/// This and the other calls for readers here keep count of the calling thread's reads
/// ([`reads_any`]).
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn read_fast(lock: &RawRwLock) -> bool {
    lock.read_fast_and(thread::began_to_read)
}

/// Enters a free lock as a reader past sleepers, for a caller whose `read_fast` has just failed.
/// Acquire on success; else the caller takes another way.
///
/// Takes no lock: a signal handler may come upon it, and leave it, at any instruction.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn read_past_sleepers(lock: &RawRwLock) -> PastSleepers {
    let past = lock.read_past_sleepers();
    counted(past == PastSleepers::Entered);
    past
}

/// Counts a read in if the word has.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
fn counted(has_entered: bool) -> bool {
    if has_entered {
        thread::began_to_read();
    }
    has_entered
}

/// Counts the read in if `enter` enters, unless it does so by a slot.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
fn counting<R>(lock: &RawRwLock, enter: impl FnOnce() -> R, has_entered: impl Fn(&R) -> bool) -> R {
    // A lock that lay here before may have left its address in a slot, until the first bias.
    // Acquire: as in `read_fast_and`.
    let depth = || match may_be_published(lock.word.load(Ordering::Acquire)) {
        true => slots::depth(lock.address()),
        false => 0,
    };
    let before = depth();
    let result = enter();
    counted(has_entered(&result) && depth() <= before);
    result
}

/// Whether the calling thread reads any lock, as long as it enters and leaves by this module.
///
/// A slot says so itself. Reads that a word counts are counted for each thread, too.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn reads_any() -> bool {
    thread::counted_reads() != 0 || slots::publishes()
}

/// Enters as a reader unless it would have to wait. Acquire on success. What may take a lock of the
/// engine is closed to signal handlers.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn try_read(lock: &RawRwLock) -> bool {
    read_fast(lock)
        || signals::closed(|| counting(lock, || lock.try_lock_shared(), |&entered| entered))
}

/// The same as the writer; `tid` is the caller's thread id.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn try_write_as(lock: &RawRwLock, tid: u32) -> bool {
    lock.write_fast_as(tid) || signals::closed(|| lock.try_lock_exclusive())
}

/// The same as the writer, for a caller whose `write_fast_as` has just failed; `tid` is the
/// caller's thread id.
#[inline(always)]
pub fn write_past_sleepers_as(lock: &RawRwLock, tid: u32) -> bool {
    lock.write_past_sleepers(tid)
}

/// Enters as a reader as `options` has it, for a caller whose `read_fast` and `read_past_sleepers`
/// have just failed: without another such try, so that a thread that meets others all the time
/// notices; `past` is what came of the latter. `None` at the deadline. Acquire.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn read_contended(lock: &RawRwLock, options: &Options, past: PastSleepers) -> Option<Status> {
    counting(lock, || lock.read_contended(options, past), Option::is_some)
}

/// The same as the writer, for a caller whose `write_fast_as` and `write_past_sleepers_as` have
/// just failed.
#[inline]
pub fn write_contended(lock: &RawRwLock, options: &Options) -> Option<Status> {
    lock.write_contended(options)
}

/// `lock_shared_with`, with its slow path inlined up to the wait.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn read_with(lock: &RawRwLock, options: &Options) -> Option<Status> {
    if read_fast(lock) {
        return Some(Status::FAST);
    }
    counting(lock, || lock.read_slow_inlined(options), Option::is_some)
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

/// Leaves as a reader, by the slot, or by the word if no waiter is to go on and the thread counts
/// no other read. Release. False if it takes another way.
///
/// Calls nothing, but where a writer sleeps for a slot.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn unlock_shared_fast(lock: &RawRwLock) -> bool {
    let word = lock.word.load(Ordering::Relaxed);
    if may_be_published(word) {
        return slots::withdraw(lock.address());
    }
    let leaves = thread::counted_reads() == 1
        && is_quietly_read(word)
        && lock.exchange(word, word - ONE_READER, Ordering::Release).is_ok();
    if leaves {
        thread::ended_only_read();
    }
    leaves
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
/// reader.
///
/// Once a thread has given back a read without having one, no lock of the process is biased any
/// more. If the lock is biased then, and the reader reads or leaves at that moment, the two may
/// take one another's change of the slot for their own: see ORDERING.md, "Known to be broken".
#[cfg(not(any(loom, shuttle)))]
pub fn unlock_shared_of_any(lock: &RawRwLock) -> bool {
    if lock.unlock_published() {
        return true;
    }
    if !reads_any() {
        slots::note_given_back_by_another();
    }
    let pointer = &raw const lock.word;
    let mut word = lock.word.load(Ordering::Relaxed);
    while readers(word) != 0 {
        let left = word - ONE_READER;
        match lock.exchange(word, left, Ordering::Release) {
            Ok(_) => {
                thread::ended_reading();
                if is_to_be_settled_by_reader(left) {
                    settle_left_by_readers(pointer);
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

/// Leaves in the place of any counted reader, unless that may let a waiter go on, or the calling
/// thread counts no read: then false, and nothing done. Release.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn unlock_counted_quietly(lock: &RawRwLock) -> bool {
    // A thread without a read gives another's back: that has to be noted before any lock is biased
    // (`unlock_shared_of_any`).
    let leaves = thread::counted_reads() != 0
        && leave_quietly(
            lock,
            |word| readers(word) != 0,
            |word| word - ONE_READER,
            is_to_be_settled_by_reader,
        );
    if leaves {
        thread::ended_reading();
    }
    leaves
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::rwlock::state::{BIASED, Policy, REVOKED};

    const READS: Options = Options::new().recursive(true);

    /// Leaves by the ways that the preload tries, one after the other.
    fn leave(lock: &RawRwLock) -> bool {
        unlock_shared_fast(lock) || unlock_counted_quietly(lock) || unlock_shared_of_any(lock)
    }

    /// A lock that readers enter by slots.
    fn biased() -> RawRwLock {
        let lock = RawRwLock::with_policy(Policy::Recursive);
        for _ in 0..200 {
            assert!(read_with(&lock, &READS).is_some() && leave(&lock));
        }
        assert_ne!(lock.word.load(Ordering::Relaxed) & BIASED, 0);
        // The first time a thread only gets its slots.
        assert!(read_with(&lock, &READS).is_some() && leave(&lock));
        lock
    }

    #[test]
    fn a_thread_knows_whether_it_reads() {
        let counted = [const { RawRwLock::new() }; 3];
        let lock = biased();
        assert!(!reads_any());
        for again in 0..4 {
            for each in &counted {
                assert!(read_fast(each) && reads_any());
            }
            assert_eq!(thread::counted_reads(), 3);
            for depth in 1..=again {
                assert!(try_read(&lock));
                assert_eq!(slots::depth(lock.address()), depth);
            }
            assert_eq!(thread::counted_reads(), 3);
            assert!(counted.iter().all(leave));
            assert_eq!(thread::counted_reads(), 0);
            assert_eq!(reads_any(), again != 0);
            assert!((0..again).all(|_| leave(&lock)));
            assert!(!reads_any());
        }
    }

    /// It is in a slot once, and counted once: both are to end.
    #[test]
    fn a_thread_that_reads_again_after_the_bias_is_gone_is_counted() {
        let lock = biased();
        assert!(read_fast(&lock) && slots::depth(lock.address()) == 1);
        let mut word = lock.word.load(Ordering::Relaxed);
        while let Err(now) = lock.exchange(word, state::revoked(word), Ordering::Relaxed) {
            word = now;
        }
        assert_eq!(lock.word.load(Ordering::Relaxed) & (BIASED | REVOKED), REVOKED);
        assert!(read_with(&lock, &READS).is_some());
        assert_eq!((slots::depth(lock.address()), thread::counted_reads()), (1, 1));
        assert!(leave(&lock) && reads_any());
        assert_eq!((slots::depth(lock.address()), thread::counted_reads()), (0, 1));
        assert!(leave(&lock) && !reads_any());
        assert!(!slots::are_given_back_by_others());
        assert!(lock.try_lock_exclusive());
    }

    #[test]
    fn a_slot_of_a_lock_that_lay_here_before_does_not_count() {
        let lock = RawRwLock::with_policy(Policy::Recursive);
        // The first time a thread only gets its slots.
        while slots::publish(lock.address()) != slots::Published::First {}
        let reads = |enter: fn(&RawRwLock) -> bool| {
            assert!(counting(&lock, || enter(&lock), |&entered| entered));
            thread::counted_reads()
        };
        assert_eq!(reads(RawRwLock::read_fast), 1);
        // Another thread gives the first bias meanwhile.
        let by_slot = reads(|lock| {
            slots::forget(lock.address());
            lock.word.fetch_or(BIASED, Ordering::Relaxed);
            lock.read_biased()
        });
        assert_eq!(by_slot, 1);
        assert!(leave(&lock) && leave(&lock) && !reads_any());
    }
}
