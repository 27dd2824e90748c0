//! The throughput-optimized mutex: one 32-bit word that names its owner.
//!
//! Newcomers may take a free lock past the queue, one running waiter spins, all others sleep
//! (Long 2017, "throughput-optimized futexes"). Two things bound the wait of sleepers: a
//! thread that has been running for a while beside sleepers changes places with one of the first,
//! and a waiter that has waited 5 ms at most and finds the lock taken yet again has it handed over.
//!
//! `state` has the word and its transitions, `contender` the slow path to the lock, `release` that
//! from it, `requeue` what a condvar asks for. The ordering arguments are in ORDERING.md (M-1 ff.).

pub(super) mod attempt;
mod early;
mod release;
mod requeue;
#[cfg(all(test, any(loom, shuttle)))]
mod starts;
mod state;
pub(crate) mod task;
#[cfg(not(any(loom, shuttle)))]
pub mod unstable;

use super::bits::Bits;
use super::brief::Brief;
use super::contender::{Contender, Lock};
use super::options::{Options, Status};
use super::yields::{note_steal, past_woken};
use crate::lot::{self, Key};
use crate::prim::atomic::{AtomicU32, Ordering};
use release::{ahead, release_ordering};
use state::{
    BITS, FREE, OWNER, PARKED, SPIN, WAKES, are_woken_alone, expected_after, is_free,
    may_stay_unseen, owner,
};

/// A mutex without data: one word, zero when free.
///
/// Not recursive, not robust, for threads of one process. It may be moved only while no thread uses
/// it, and its memory may be freed as soon as it has been unlocked for the last time, even while
/// `unlock` is still returning in another thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawMutex {
    word: AtomicU32,
}

impl Default for RawMutex {
    fn default() -> Self {
        Self::new()
    }
}

impl RawMutex {
    /// A free mutex.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(FREE) }
    }

    /// A free mutex.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self { word: AtomicU32::new(FREE) }
    }

    /// Takes the lock, waiting as long as it takes. Acquire.
    ///
    /// A thread that locks what it holds already waits for ever.
    #[inline]
    pub fn lock(&self) {
        // (Not `lock_known`: it would cost the fast path an instruction.)
        match lot::known_claim() {
            0 => self.lock_first(),
            claim => {
                if let Err(word) = self.lock_as(claim) {
                    self.lock_seen(word);
                }
            }
        }
    }

    /// Takes the lock as `options` has it, and returns how; `None` at the deadline. Acquire.
    ///
    /// Costs no more than `lock`, which finds out the same. A deadline that has passed still takes
    /// a lock that is free.
    #[inline]
    pub fn lock_with(&self, options: &Options) -> Option<Status> {
        let tid = lot::tid();
        if self.word.compare_exchange(FREE, tid, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Some(Status::FAST);
        }
        self.lock_slow(options)
    }

    /// Takes the lock if that is possible without waiting. Acquire on success.
    #[inline]
    pub fn try_lock(&self) -> bool {
        match self.lock_known() {
            Ok(_) => true,
            Err(word) => self.try_steal(word),
        }
    }

    /// `lock_as` for a thread that knows its id. The others find out in `try_steal`, a call that
    /// fast paths make in any case.
    #[inline]
    fn lock_known(&self) -> Result<u32, u32> {
        match lot::known_claim() {
            0 => Err(FREE),
            claim => self.lock_as(claim),
        }
    }

    /// Takes the lock for a thread with this claim: its id, and the bits that it expects the free
    /// word to hold. Those of a quiet lock are 0; `try_steal` says when they are others. The word
    /// if it holds anything else, also if the lock is free.
    #[inline]
    fn lock_as(&self, claim: u32) -> Result<u32, u32> {
        let free = claim & !OWNER;
        self.word.compare_exchange(free, claim, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Releases the lock, and returns how many waiters it woke, or gave the lock to. Release.
    ///
    /// Touches the word once and never again, so that another thread may lock, unlock and free it
    /// at once. Does nothing if no thread holds the lock; otherwise releases it, whichever thread
    /// holds it.
    #[inline]
    pub fn unlock(&self) -> usize {
        match self.unlock_as(lot::known_claim()) {
            Ok(_) => 0,
            Err(word) => self.unlock_slow(word),
        }
    }

    /// `unlock` by a thread with this claim, if the word says no more: then no waiter has to be
    /// woken. The word otherwise. (A thread that doesn't know its id claims 0, and leaves a lock
    /// that no thread holds as it is.)
    #[inline]
    fn unlock_as(&self, claim: u32) -> Result<u32, u32> {
        let free = claim & !OWNER;
        self.word.compare_exchange(claim, free, release_ordering(), Ordering::Relaxed)
    }

    /// Releases the lock to the waiter that has waited longest, if there is one, and not to the
    /// thread that comes first. Returns whether there was one. Release.
    pub fn unlock_fair(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & PARKED == 0 || is_free(word) {
            self.unlock();
            return false;
        }
        self.hand_off() != 0
    }

    /// Releases the lock to the waiter that has waited longest and takes it again, if a thread
    /// waits for it. The caller holds it.
    pub fn bump(&self) {
        if self.word.load(Ordering::Relaxed) & PARKED != 0 {
            self.unlock_fair();
            self.lock();
        }
    }

    /// The kernel thread id of the holder, 0 if no thread holds it,
    /// [`TASK`](crate::lock::TASK) if a task does.
    #[inline]
    pub fn owner(&self) -> u32 {
        state::owner(self.word.load(Ordering::Relaxed))
    }

    /// Whether a thread holds it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.owner() != 0
    }

    /// The word was `seen`, or may be so, and isn't what the thread expected: takes the lock past
    /// the queue, as long as it is free.
    ///
    /// Sleepers whose wake is on its way may leave the word as it is for a whole slice, if they
    /// have no processor. The thread then expects to find it so again, and takes and releases the
    /// lock in one exchange each, as if no thread waited.
    ///
    /// A call of its own: in a lock's fast path it would save registers for all.
    #[cold]
    #[inline(never)]
    fn try_steal(&self, seen: u32) -> bool {
        let claim = lot::claim();
        let tid = claim & OWNER;
        let mut word = seen;
        while is_free(word) {
            match self.exchange(word, word | tid, Ordering::Acquire) {
                Ok(_) => {
                    if word & SPIN != 0 {
                        note_steal(self.key());
                    }
                    let expected = expected_after(word, ahead(word, self.key()));
                    lot::expect(expected, word == FREE && claim != tid);
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// The word was `seen`: lets waiters that were woken run before the thread passes them, on the
    /// only processor, now and then. Returns whether it has: then the word is another.
    #[inline]
    fn make_way(&self, seen: u32) -> bool {
        are_woken_alone(seen)
            && is_free(seen)
            && lot::seems_single()
            && past_woken(self.key(), || self.word.load(Ordering::Relaxed) & WAKES == 0)
    }

    /// The word was `seen`, as in `try_steal`: takes the lock past the queue if it is free, or soon
    /// becomes so. A newcomer's spell, of which the word says nothing.
    fn lock_soon(&self, seen: u32) -> bool {
        let seen = if self.make_way(seen) { self.word.load(Ordering::Relaxed) } else { seen };
        if is_free(seen) && self.try_steal(seen) {
            return true;
        }
        let Some(mut spell) = Brief::new(self.key()) else { return false };
        let (mut word, mut is_in_turn) = (seen, false);
        while spell.goes_on(owner(word)) {
            word = self.word.load(Ordering::Relaxed);
            if is_free(word) {
                if self.try_steal(word) {
                    spell.reward();
                    return true;
                }
                continue;
            }
            if !may_stay_unseen(word) {
                return false;
            }
            // (Asked once, since it looks at the clock.)
            if word & PARKED != 0 && !is_in_turn {
                if spell.turn_is_over() {
                    return false;
                }
                is_in_turn = true;
            }
        }
        false
    }

    #[inline]
    fn exchange(&self, old: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        self.word.compare_exchange_weak(old, new, success, Ordering::Relaxed)
    }

    /// What waiters queue at.
    #[inline]
    fn key(&self) -> Key {
        Key::mutex(self.address())
    }

    /// What tells waiters of different mutexes apart.
    #[inline]
    fn address(&self) -> usize {
        core::ptr::from_ref(&self.word).addr()
    }

    /// `lock` by a thread that doesn't know its id.
    #[cold]
    #[inline(never)]
    fn lock_first(&self) {
        self.lock_seen(FREE);
    }

    /// The word was `seen`, and isn't what the thread expected: takes the lock, waiting as long as
    /// it takes.
    #[cold]
    #[inline(never)]
    fn lock_seen(&self, seen: u32) {
        if !self.lock_soon(seen) {
            self.lock_slow(&const { Options::new() });
        }
    }

    /// `lock_with` for a caller that has just tried in vain: without another try at first.
    #[cold]
    pub(crate) fn lock_slow(&self, options: &Options) -> Option<Status> {
        Contender::new(self, options).contend()
    }
}

impl Lock for &RawMutex {
    #[inline]
    fn key(&self) -> Key {
        RawMutex::key(self)
    }

    #[inline]
    fn bits(&self) -> &'static Bits {
        &BITS
    }

    #[inline]
    fn load(&self) -> u64 {
        self.word.load(Ordering::Relaxed).into()
    }

    #[inline]
    fn exchange(&self, old: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        let exchanged = RawMutex::exchange(self, old as u32, new as u32, success);
        exchanged.map(u64::from).map_err(u64::from)
    }

    #[inline]
    fn clear(&self, bits: u64) {
        self.word.fetch_and(!(bits as u32), Ordering::Relaxed);
    }

    // There is nothing to settle: every release that leaves no waiter on its way wakes the first.
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::How;

    fn saying(word: u32) -> RawMutex {
        RawMutex { word: AtomicU32::new(word) }
    }

    /// The word speaks of a wake on its way to a queue without waiters.
    #[test]
    fn a_caller_that_may_not_steal_and_steps_back_in_vain_has_slept() {
        let mutex = saying(PARKED | state::ONE_WAKE);
        let status = mutex.lock_with(&Options::new().steal(false)).unwrap();
        assert_eq!(status.how, How::Slept);
        assert!(status.sleeps > 0);
    }

    #[test]
    fn a_caller_that_may_not_steal_never_stole() {
        let status = saying(PARKED).lock_with(&Options::new().steal(false)).unwrap();
        assert_eq!((status.how, status.sleeps), (How::Fast, 0));
        let status = saying(PARKED).lock_with(&Options::new()).unwrap();
        assert_eq!((status.how, status.sleeps), (How::Stolen, 0));
    }
}
