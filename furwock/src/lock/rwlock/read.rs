//! Reading.

use super::RawRwLock;
use super::reader::Reader;
use super::settle::settle_left_by_readers;
use super::slots::{self, Published};
use super::state::{
    ONE_READER, PastSleepers, UPGRADING, is_biased, is_to_be_settled_by_reader, may_be_published,
    read_at_once, read_past_sleepers,
};
use crate::lock::options::{How, Options, Status};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};

impl RawRwLock {
    /// Enters as a reader, waiting as long as it takes. Acquire.
    ///
    /// A thread that reads already may wait for itself, if a writer waits: see
    /// [`Options::recursive`].
    #[inline]
    pub fn lock_shared(&self) {
        if !self.read_fast() {
            self.read_slow(&const { Options::new() });
        }
    }

    /// Enters as a reader unless it would have to wait. Acquire on success.
    ///
    /// Under the fair policies it would have to, too, while writers wait; not at all times: a
    /// running thread has its turn.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.read_fast() || Reader::new(self, &const { Options::new() }).try_enter()
    }

    /// Enters as a reader as `options` has it, and returns how; `None` at the deadline. Acquire.
    #[inline]
    pub fn lock_shared_with(&self, options: &Options) -> Option<Status> {
        if self.read_fast() { Some(Status::FAST) } else { self.read_slow(options) }
    }

    /// Enters as a reader if no writer is inside, however many wait: for a thread that reads
    /// already. Acquire on success.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.read_fast() || Reader::new(self, &const { Options::new().recursive(true) }).try_enter()
    }

    /// Leaves as a reader, and returns how many waiters it let in or woke. Release.
    ///
    /// Touches the word once and never again. The caller is a reader.
    #[inline]
    pub fn unlock_shared(&self) -> usize {
        if self.unlock_published() { 0 } else { self.unlock_counted() }
    }

    /// The same for a reader that the word counts.
    #[inline]
    pub(super) fn unlock_counted(&self) -> usize {
        let ordering = if mutant::active(Mutant::ReadUnlockRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        // After the release the lock may be gone; its address still names the queue.
        let word = &raw const self.word;
        let left = self.word.fetch_sub(ONE_READER, ordering) - ONE_READER;
        if mutant::active(Mutant::UpgraderForgotten) && left & UPGRADING != 0 {
            return 0;
        }
        if is_to_be_settled_by_reader(left) { settle_left_by_readers(word) } else { 0 }
    }

    /// Leaves as a reader that published itself. False if the caller isn't one. Calls nothing, but
    /// where a writer sleeps for it.
    #[inline(always)]
    pub(super) fn unlock_published(&self) -> bool {
        // A reader in a slot keeps these bits set; a slot of a lock that lay here before doesn't.
        may_be_published(self.word.load(Ordering::Relaxed)) && slots::withdraw(self.address())
    }

    /// Enters as a reader if nothing is in the way, by the word or by a slot. Acquire on success.
    /// False may mean nothing: the caller takes another way then.
    #[inline(always)]
    pub(crate) fn read_fast(&self) -> bool {
        self.read_fast_and(|| {})
    }

    /// The same, and calls `was_counted` if it entered by the word.
    #[inline(always)]
    pub(super) fn read_fast_and(&self, was_counted: impl FnOnce()) -> bool {
        // Acquire: a reader that sees the first bias publishes itself after the slots were emptied
        // (W-5).
        let word = self.word.load(Ordering::Acquire);
        let Some(new) = read_at_once(word) else {
            return is_biased(word) && self.read_biased();
        };
        let has_entered = self.exchange(word, new, Ordering::Acquire).is_ok();
        if has_entered {
            was_counted();
        }
        has_entered
    }

    /// Publishes this thread as a reader, and is in if the lock is still biased then (W-3).
    #[inline(always)]
    pub(super) fn read_biased(&self) -> bool {
        match slots::publish(self.address()) {
            Published::First => is_biased(self.word.load(Ordering::Acquire)) || self.take_back(),
            // The thread is inside.
            Published::Again => true,
            Published::Not => false,
        }
    }

    /// The bias went away while this thread published itself. False, for `read_biased`.
    #[cold]
    #[inline(never)]
    fn take_back(&self) -> bool {
        slots::withdraw(self.address());
        false
    }

    /// Enters a free lock past sleepers, as `Reader` does, at a fraction of its cost (W-1). Acquire
    /// on success.
    #[inline(always)]
    pub(super) fn read_past_sleepers(&self) -> PastSleepers {
        let word = self.word.load(Ordering::Relaxed);
        let Some(new) = read_past_sleepers(word) else { return PastSleepers::Not };
        match self.exchange(word, new, Ordering::Acquire) {
            Ok(_) => PastSleepers::Entered,
            Err(_) => PastSleepers::Lost,
        }
    }

    /// `lock_shared_with` for a caller that has just tried in vain.
    #[cold]
    pub(crate) fn read_slow(&self, options: &Options) -> Option<Status> {
        self.read_slow_inlined(options)
    }

    #[inline(always)]
    pub(super) fn read_slow_inlined(&self, options: &Options) -> Option<Status> {
        let past = if options.steal { self.read_past_sleepers() } else { PastSleepers::Not };
        if past == PastSleepers::Entered {
            return Some(Status::new(How::Stolen));
        }
        self.read_contended(options, past)
    }

    /// The same for a caller of `read_past_sleepers`, of which `past` came.
    #[inline]
    pub(super) fn read_contended(&self, options: &Options, past: PastSleepers) -> Option<Status> {
        Reader::new(self, options).after(past).enter()
    }
}
