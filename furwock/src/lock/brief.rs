//! A contender's first looks, before its first whole spell of spinning (`spin`).
//!
//! Where two threads take a lock in turn for 0.1 us, each waits for less than that. Of such a turn
//! a whole spell takes a tenth, before its first look and after its last.

use super::interval::{self, Part, SPELLS};
use super::{spin, turn};
use crate::lot::{self, Key, Notes};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;
use crate::sys::monitor;

/// A brief spell has so many looks: 0.4 us, or 0.7 where a pause takes long.
const BRIEF_LOOKS: u32 = 16;

/// A spell in which the contender has nothing to do but to look at the word a few times.
pub(super) struct Brief {
    notes: &'static Notes,
    looks: u32,
}

#[cfg(all(test, loom))]
std::thread_local! {
    static ARE_BRIEF: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// Explores a model with brief spells, of one look.
#[cfg(all(test, loom))]
pub(crate) fn with_brief_spells(explore: impl FnOnce()) {
    crate::prim::with_flag(&ARE_BRIEF, explore);
}

impl Brief {
    /// `None` where a whole spell is to come first: one that is timed; any of a thread that does
    /// little, half of which stand aside; and where spells have been in vain, or it isn't known yet
    /// whether there is a second processor.
    pub(super) fn new(key: Key) -> Option<Self> {
        // (Whole spells register their thread.)
        let notes = &lot::known_own()?.notes;
        #[cfg(all(test, loom))]
        if ARE_BRIEF.get() {
            return Some(Self { notes, looks: BRIEF_LOOKS - 1 });
        }
        if cfg!(any(loom, shuttle)) || lot::seems_single() {
            return None;
        }
        let spells = notes.counts[SPELLS].load(Ordering::Relaxed).wrapping_add(1);
        let is_plain =
            interval::part_of(notes, spells) == Part::None && !interval::does_little(notes);
        (is_plain && spin::are_rewarded(key)).then_some(Self { notes, looks: 0 })
    }

    /// Pauses, unless this is to be the first look. Whether to look (once more) at the lock, which
    /// had this owner (0 if none is known).
    pub(super) fn goes_on(&mut self, owner: u32) -> bool {
        if self.looks >= adjustable!(BRIEF_LOOKS, BriefLooks)
            || monitor::has_processor(owner, lot::tid) == Some(false)
        {
            return false;
        }
        if self.looks != 0 {
            spin_loop();
        }
        self.looks += 1;
        true
    }

    /// Whether the thread has run past sleepers for its turn.
    pub(super) fn turn_is_over(&self) -> bool {
        turn::is_over_by(self.notes)
    }

    /// It was rewarded, and counts as one of the thread's spells. (If it wasn't, a whole one
    /// follows.)
    pub(super) fn reward(self) {
        interval::count(self.notes);
    }
}
