//! One word that the kernel marks when its owner dies.

use super::state::{FREE, OWNER_DIED, WAITERS, is_free, owner};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::{
    Sleep, robust_unlock, robust_unlock_and_wake, shared_store_and_wake, shared_wait,
    unlock_is_one_step,
};
use crate::sys::clock::Deadline;
use crate::sys::robust_list::{self, Links, List};
use crate::sys::unsupported::Unsupported;

/// How long a caller waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patience<'d> {
    /// Not at all.
    None,
    Until(&'d Deadline),
    Endless,
}

/// The caller: its thread id and its robust list.
#[derive(Clone, Copy)]
pub(super) struct Me {
    pub(super) tid: u32,
    pub(super) list: List,
}

impl Me {
    #[inline]
    pub(super) fn new() -> Result<Self, Unsupported> {
        let tid = crate::lot::tid();
        Ok(Self { tid, list: robust_list::own(tid)? })
    }
}

/// A word with its link at the distance that glibc registers. In the gap between them is room for
/// what belongs to the word and the kernel doesn't look at.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) word: AtomicU32,
    pub(super) note: AtomicU32,
    _gap: [u32; 4],
    links: Links,
}

#[cfg(all(target_pointer_width = "64", not(any(loom, shuttle))))]
const _: () = assert!(
    core::mem::offset_of!(Entry, links) + robust_list::PREV_TO_NEXT == robust_list::WORD_TO_NEXT
);

impl Entry {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self {
            word: AtomicU32::new(FREE),
            note: AtomicU32::new(0),
            _gap: [0; 4],
            links: Links::new(),
        }
    }

    /// Tells the kernel that `me` is about to take or release this entry.
    #[inline]
    pub(super) fn begin(&self, me: Me) {
        me.list.begin(&self.links);
    }

    /// After the word was taken: makes it part of the list.
    #[inline]
    pub(super) fn link(&self, me: Me) {
        // SAFETY: the callers have just taken the word between `begin` and `end`; that the entry
        // stays in place while it is held is the contract of the raw locks' methods.
        unsafe { me.list.link(&self.links) };
    }

    /// Before the word is released.
    #[inline]
    pub(super) fn unlink(&self, me: Me) {
        // SAFETY: the callers hold the word, so that they have linked the entry: by the contract of
        // the raw locks' methods, or because the list has it.
        unsafe { me.list.unlink(&self.links) };
    }

    /// Replaces `old` by `new`, or returns what is there.
    #[inline]
    pub(super) fn exchange(&self, old: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        self.word.compare_exchange(old, new, success, Ordering::Relaxed)
    }

    /// Releases the word if it says nothing but that `me` holds it, and ends what `begin` began; or
    /// returns the word. The last touch of the entry, by the kernel too (RB-5).
    #[inline]
    pub(super) fn unlock(&self, me: Me) -> Result<(), u32> {
        robust_unlock(&self.word, me.tid, me.list)
    }

    /// Releases the word, wakes one sleeper, and ends what `begin` began: a killed thread has done
    /// the first two, or neither (RB-1). As `unlock`, the last touch.
    #[cold]
    pub(super) fn unlock_and_wake(&self, me: Me) {
        robust_unlock_and_wake(&self.word, me.list);
    }

    /// Stores 0 and wakes one sleeper, or all ones and wakes all: a killed thread has done both or
    /// neither (RB-1).
    #[cold]
    pub(super) fn release_and_wake(&self, new: u32, count: u32) {
        shared_store_and_wake(&self.word, new, count);
    }

    /// Sleeps while the word is `expected`, WAITERS included. `Err` when patience ended, and no
    /// wake with it.
    #[cold]
    pub(super) fn sleep(&self, expected: u32, patience: Patience<'_>) -> Result<(), ()> {
        let deadline = match patience {
            Patience::None => return Err(()),
            Patience::Until(deadline) => Some(deadline),
            Patience::Endless => None,
        };
        match shared_wait(&self.word, expected, deadline) {
            Sleep::TimedOut => Err(()),
            _ => Ok(()),
        }
    }

    /// Takes the word for a use that is over at once if it turns out to be forbidden: a reader's.
    /// Whether a dead one's mark was on it doesn't matter. The caller has called `begin`.
    #[inline]
    pub(super) fn claim(&self, me: Me) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        is_free(word) && self.exchange(word, me.tid, Ordering::Relaxed).is_ok()
    }

    /// Releases what `claim` took, between `begin` and `end`.
    #[inline]
    pub(super) fn unclaim(&self, me: Me) {
        self.begin(me);
        self.unlink(me);
        if unlock_is_one_step() {
            return self.unclaim_in_one_step(me);
        }
        if self.exchange(me.tid, FREE, Ordering::Release).is_err() {
            self.release_and_wake(FREE, 1);
        }
        me.list.end();
    }

    #[inline(never)]
    fn unclaim_in_one_step(&self, me: Me) {
        if self.unlock(me).is_err() {
            self.unlock_and_wake(me);
        }
    }

    /// Whether `me` holds it.
    #[inline]
    pub(super) fn is_held_by(&self, me: Me) -> bool {
        owner(self.word.load(Ordering::Relaxed)) == me.tid
    }

    /// Whether it is `me` that has linked it, and not an earlier thread with the same id.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn is_linked_by(&self, me: Me) -> bool {
        self.is_held_by(me) && me.list.contains(&self.links)
    }

    /// The word with WAITERS set, for `sleep`; `Err` with the word if no thread holds it.
    pub(super) fn marked(&self, word: u32) -> Result<u32, u32> {
        debug_assert!(!is_free(word));
        if word & WAITERS != 0 {
            return Ok(word);
        }
        self.exchange(word, word | WAITERS, Ordering::Relaxed).map(|word| word | WAITERS)
    }

    /// Takes a dead one's mark away. No other thread may be asleep on it.
    pub(super) fn clear_dead(&self, word: u32) {
        if is_free(word) && word & OWNER_DIED != 0 {
            _ = self.exchange(word, FREE, Ordering::Relaxed);
        }
    }
}
