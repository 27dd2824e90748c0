//! What the bits of a lock's word mean to one kind of waiter: plain data, and the steps that the
//! slow path takes with it. Pure: no atomics, no waiting.
//!
//! `contender` is the slow path of every lock that has an owner. It knows none of them: each lock's
//! state module describes its waiters by one [`Bits`] for each kind (`mutex/state.rs`,
//! `rwlock/state.rs`). Words of 32 bits are widened.

use super::spin::Probing;

/// In every word: the kernel's id of the thread that has the lock to itself, 0 if none has.
pub(super) const OWNER: u64 = (1 << 22) - 1;
/// What a word says of its owner if that is a task: a task has no thread of its own. A thread may
/// have this id, one in four million where the system allows that many; it then passes for a task,
/// which leaves its end unnoticed and changes nothing else.
pub const TASK: u32 = OWNER as u32;
/// In every word: a running thread spins for the lock and will look at it again.
pub(super) const SPIN: u64 = 1 << 23;
/// In every word: the lock goes to the first in the queue; no thread may steal it.
pub(super) const HANDOFF: u64 = 1 << 24;

/// What a running waiter has promised in the word, and takes back as it takes the lock or goes on
/// to another role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    Newcomer,
    /// SPIN is its bit.
    Spinner,
    /// One of the wakes is its own.
    Woken,
}

/// When a thread whose turn is over leaves its place to a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    Never,
    Always,
    /// Where the lock is held for long at a time, or shared nearly all the time: threads that hold
    /// it for a few instructions do no better on two processors than on one.
    LongSections,
}

/// A lock's word as one kind of waiter sees it.
#[derive(Debug)]
pub(super) struct Bits {
    /// While any of these is set, the lock can't be taken.
    pub(super) closed: u64,
    /// While this is set, no thread spins: the lock will be handed over.
    pub(super) promised: u64,
    /// Set while others may be queued that a waiter of this kind would pass.
    pub(super) parked: u64,
    /// While any of these is set and there is no owner, threads share the lock.
    pub(super) shared: u64,
    /// Set by a waiter as it queues.
    pub(super) queues_as: u64,
    /// The count of wakes that are on their way, and one of them.
    pub(super) wakes: u64,
    pub(super) one_wake: u64,
    /// The bits that are stale if no thread is queued.
    pub(super) stale: u64,
    /// What the last waiter clears as it leaves the queue.
    pub(super) cleared_by_last: u64,
    /// A waiter that queues again does so in front, and may ask for a hand-off.
    pub(super) keeps_place: bool,
    /// When a thread whose turn is over wakes a waiter that takes its place.
    pub(super) leaves_place: Leaves,
    /// Whether a waiter with that token may take it.
    pub(super) takes_place: fn(usize) -> bool,
    /// While any of these is set it wakes none: the next release is to let in others first.
    pub(super) keeps_place_while: u64,
    /// Whether such waiters may be more than are of use (`surplus`).
    pub(super) may_be_surplus: bool,
    /// What a waiter tells those that look through the queue.
    pub(super) token: usize,
    /// How a spinner looks at the lock, and for how long.
    pub(super) probing: Probing,
    /// The word after a waiter has said that it waits, before it spins or queues.
    pub(super) announce: fn(u64) -> u64,
    /// The word after a thread took the lock.
    pub(super) take: fn(u64, tid: u32) -> u64,
    /// The word after a thread took the lock over from its owner; `None` if it would still be
    /// closed.
    pub(super) seize: fn(u64, tid: u32) -> Option<u64>,
    /// In a forked child with an empty queue: the word without its parent's threads. The second
    /// argument tells whether this process has a thread.
    pub(super) in_child: fn(u64, fn(u32) -> bool) -> u64,
}

#[inline]
pub(super) const fn owner(word: u64) -> u32 {
    (word & OWNER) as u32
}

impl Bits {
    /// Whether the lock can be taken.
    #[inline]
    pub(super) const fn is_available(&self, word: u64) -> bool {
        word & self.closed == 0
    }

    /// Whether it is held by threads that share it, and by no owner.
    #[inline]
    pub(super) const fn is_shared(&self, word: u64) -> bool {
        word & self.shared != 0 && owner(word) == 0
    }

    /// Whether others are queued, and one that has been woken, or spins, will look at the lock.
    #[inline]
    pub(super) const fn is_contested(&self, word: u64) -> bool {
        word & self.parked != 0 && word & (SPIN | self.wakes) != 0
    }

    /// Whether a waiter that queues may claim a wake for another: the lock isn't promised, it is
    /// no others' turn, and the count has room.
    #[inline]
    pub(super) const fn may_claim_wake(&self, word: u64) -> bool {
        word & (self.promised | self.keeps_place_while) == 0 && word & self.wakes != self.wakes
    }

    /// The word without `role`. A wake may have been taken for stale: then there may be none left
    /// to take back.
    #[inline]
    pub(super) const fn given_up(&self, word: u64, role: Role) -> u64 {
        match role {
            Role::Newcomer => word,
            Role::Spinner => word & !SPIN,
            Role::Woken if word & self.wakes != 0 => word - self.one_wake,
            Role::Woken => word,
        }
    }

    /// The word after `tid` took the lock, giving up `role`.
    #[inline]
    pub(super) fn taken(&self, word: u64, role: Role, tid: u32) -> u64 {
        (self.take)(self.given_up(word, role), tid)
    }

    /// The word after a waiter gave up `role` and became the spinner.
    #[inline]
    pub(super) fn spinning(&self, word: u64, role: Role) -> u64 {
        (self.announce)(self.given_up(word, role)) | SPIN
    }

    /// The word after a waiter queued itself, giving up `role`, and asked for a hand-off if
    /// `hand_off`.
    #[inline]
    pub(super) fn queued(&self, word: u64, role: Role, hand_off: bool) -> u64 {
        let asked = if hand_off { HANDOFF } else { 0 };
        (self.announce)(self.given_up(word, role)) | self.queues_as | asked
    }
}
