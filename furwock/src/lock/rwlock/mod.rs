//! The rwlock: one 64-bit word, readers that scale, writers that don't starve.
//!
//! All there is to know of a lock is in its word (Drepper 2008), so that a reader enters or leaves
//! by one read-modify-write and no thread needs an inner lock. Locks that are mostly read become
//! *biased*: then readers publish themselves in slots of their own threads and write to nothing
//! they share (Dice and Kogan 2019). Writers spin, steal, sleep and are handed the lock as a
//! mutex's waiters are (Long 2017); readers that have slept are let in together.
//!
//! `state` has the word and its transitions; `read` and `write` are the two sides' ways in and out,
//! `reader` how a reader enters that is stopped, `sharing` whether it joins others or leaves the
//! lock to them for a moment, `wanted` what the slow path (`contender`) asks of a rwlock, `settle`
//! the queue's side, `long_reads` whether the last reader gives the lock away. The ordering
//! arguments are in ORDERING.md (W-1 ff.).

mod long_reads;
mod read;
mod reader;
mod settle;
mod sharing;
pub(crate) mod slots;
#[cfg(all(test, any(loom, shuttle)))]
mod starts;
mod state;
pub mod unstable;
mod wanted;
mod write;

#[cfg(all(test, loom))]
pub(crate) use long_reads::with_long_reads;

use super::contender;
use crate::lot::{self, Debt, Key};
use crate::prim::atomic::{AtomicU64, Ordering};
use settle::{OnLeave, settle, settle_at};
use state::{
    Cause, HANDOFF, Kind, PARKED, UPGRADING, free, is_to_be_settled, is_written, may_be_published,
    owner, policy, readers,
};
use wanted::Wanted;

pub use state::Policy;

/// What a rwlock's word means to a writer that waits.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn writers_bits() -> &'static super::bits::Bits {
    state::bits(Kind::Writer)
}

/// A reader-writer lock without data: one 64-bit word, zero when free and phase-fair.
///
/// Shared by readers, or held by one writer; besides the readers one *upgradable* reader may be
/// inside, which can become the writer without letting go. For threads of one process. Up to
/// 262,144 readers are counted at once; one more waits until another leaves.
///
/// Which side goes first is its [`Policy`]. Under the fair ones a running writer may take a free
/// lock past sleepers for about a millisecond, and a reader read past them for about four, before
/// it queues up itself; a writer that has waited for 5 ms asks for the lock to be handed over.
///
/// # Cost
/// A lock that was read 32 times without a write becomes biased, and after that write again
/// when it was read 8 times. Reading then takes one locked instruction on memory of the thread's
/// own. The next writer pays for it: it looks at one cache line for each thread that ever read a
/// biased lock, of at most 512, and waits for those that read this one. Slots for that take 64 KiB
/// a process, touched as threads use them. A thread that reads more locks at once than it has free
/// slots is counted in the word instead.
///
/// It may be moved only while no thread uses it, which includes a read guard that was forgotten: a
/// biased lock that is moved to where another lay whose forgotten reader was never dropped waits
/// for that reader. Its memory may be freed as soon as it has been unlocked for the last time, even
/// while that unlock is still returning in another thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawRwLock {
    word: AtomicU64,
}

impl Default for RawRwLock {
    fn default() -> Self {
        Self::new()
    }
}

impl RawRwLock {
    /// A free lock, phase-fair.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self::with_policy(Policy::PhaseFair)
    }

    /// A free lock.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self::with_policy(Policy::PhaseFair)
    }

    /// A free lock under `policy`.
    ///
    /// ```
    /// use furwock::lock::{Policy, RawRwLock};
    ///
    /// // What `WithPolicy` does.
    /// let settings =
    ///     furwock::RwLock::from_raw(RawRwLock::with_policy(Policy::PreferWriters), vec![1, 2]);
    /// assert_eq!(settings.read().len(), 2);
    /// ```
    #[cfg(not(any(loom, shuttle)))]
    pub const fn with_policy(policy: Policy) -> Self {
        Self { word: AtomicU64::new(free(policy)) }
    }

    /// A free lock under `policy`.
    #[cfg(any(loom, shuttle))]
    pub fn with_policy(policy: Policy) -> Self {
        Self { word: AtomicU64::new(free(policy)) }
    }

    /// Which side goes first.
    #[inline]
    pub fn policy(&self) -> Policy {
        policy(self.word.load(Ordering::Relaxed))
    }

    /// Sets which side goes first, from the next lock call on.
    pub fn set_policy(&self, new: Policy) {
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, state::under(word, new), Ordering::Relaxed) {
            word = now;
        }
    }

    #[inline]
    fn exchange(&self, old: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        self.word.compare_exchange_weak(old, new, success, Ordering::Relaxed)
    }

    /// What waiters queue at.
    #[inline]
    fn key(&self) -> Key {
        Key::rwlock(self.address())
    }

    /// What readers publish in their slots.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        core::ptr::from_ref(&self.word).addr()
    }

    fn debt(&self, settle: OnLeave) -> Debt {
        Debt { settle, address: core::ptr::from_ref(self).expose_provenance() }
    }
}

/// What can be seen of it. Out of date at once, unless the caller is inside.
impl RawRwLock {
    /// Whether any thread is inside.
    pub fn is_locked(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        owner(word) != 0
            || readers(word) != 0
            || (may_be_published(word) && slots::is_published(self.address()))
    }

    /// Whether a writer is inside.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        is_written(self.word.load(Ordering::Relaxed))
    }

    /// Whether a thread may be asleep for it.
    #[inline]
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(crate) fn has_sleepers(&self) -> bool {
        self.word.load(Ordering::Relaxed) & PARKED != 0
    }

    /// The kernel thread id of the writer or the upgradable reader, 0 if there is neither.
    #[inline]
    pub fn owner(&self) -> u32 {
        owner(self.word.load(Ordering::Relaxed))
    }
}

/// What all sides have in common.
impl RawRwLock {
    /// Has the next release give the lock to the waiter that has waited longest, past which nothing
    /// gets until then. The caller is inside.
    pub fn ask_for_hand_off(&self) {
        if self.word.load(Ordering::Relaxed) & PARKED != 0 {
            // Under the bucket's lock: a waiter has to be queued.
            let queue = lot::lock(self.key());
            if queue.has(self.key()) {
                self.word.fetch_or(HANDOFF, Ordering::Relaxed);
            }
        }
    }

    /// Releases what `held` says is held, as `left` says, and sees to those that wait.
    #[cold]
    fn leave(&self, held: impl Fn(u64) -> bool, left: impl Fn(u64) -> u64, cause: Cause) -> usize {
        let pointer = &raw const self.word;
        let mut word = self.word.load(Ordering::Relaxed);
        while held(word) {
            let new = left(word);
            match self.exchange(word, new, Ordering::Release) {
                // A thread that is on the way sees to the others; if a writer comes, and an
                // upgradable reader left, it may have to wait all the same.
                Ok(_)
                    if is_to_be_settled(new) || (cause != Cause::Written && new & PARKED != 0) =>
                {
                    return settle_at(pointer, cause);
                }
                Ok(_) => return 0,
                Err(now) => word = now,
            }
        }
        0
    }

    /// Forgets readers that never left, as no thread uses the lock any more: before its memory goes
    /// to another use without the lock being dropped.
    fn forget_readers(&self) {
        if may_be_published(self.word.load(Ordering::Relaxed)) {
            slots::forget(self.address());
        }
    }

    /// In a forked child: takes back what the word says of threads that only the parent has, if no
    /// thread is queued. Waiters that queue do so anyway; for callers that won't.
    fn forget_parents(&self) {
        let speaks_of_others = state::PARKED | HANDOFF | UPGRADING | state::STALE_IN_CHILD;
        if !crate::sys::fork::is_child()
            || self.word.load(Ordering::Relaxed) & speaks_of_others == 0
        {
            return;
        }
        let wanted = Wanted { lock: self, kind: Kind::Writer, on_leave: None };
        let queue = lot::lock(self.key());
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) =
            self.exchange(word, contender::cleaned(&wanted, word, &queue), Ordering::Relaxed)
        {
            word = now;
        }
    }

    /// The caller has waited in vain, and is inside no longer than its call on this lock: lets
    /// those go on that it held up.
    fn settle_after_leaving(&self) {
        let mut queue = lot::lock(self.key());
        if queue.has(self.key()) {
            settle(&raw const self.word, &mut queue, Cause::Left);
        } else {
            self.word.fetch_and(!(PARKED | HANDOFF), Ordering::Relaxed);
        }
    }
}

impl Drop for RawRwLock {
    /// A reader's guard may have been forgotten: its slot mustn't speak of whatever comes to lie at
    /// this address.
    fn drop(&mut self) {
        if crate::prim::checker_has_failed() {
            return;
        }
        self.forget_readers();
    }
}
